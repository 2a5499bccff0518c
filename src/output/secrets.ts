/** Redacts secrets in rollcall's own texts, and omits texts from outside that contain a secret. */

import { endOfString } from "../json/raw-json.ts";
import { decodePercent } from "../system/host.ts";

const redacted = "***";
const omitted = "[text omitted: it contains a credential]";

/** A shorter secret would match other text by chance. */
const minLength = 4;
/** A shorter secret can equal a JSON key such as `data`. */
const minLengthInNames = 8;
/** A variable that nothing replaced by its value. */
const variable = /^(?:\$\{\w+\}|\$?ROLLCALL_\w+)$/;
/** A service may cut the key that it repeats. */
const minEndLength = 12;
/** Shorter base64 would match other text by chance. */
const minBase64Length = 6;

export const openSecrets = () => {
  const known = new Set<string>();
  let exact: readonly string[] = [];
  let base64: readonly string[] = [];
  let inNames: readonly string[] = [];
  let ends: readonly string[] = [];
  const isIn = (text: string, spellings: readonly string[]) => spellings.some((spelling) => text.includes(spelling));
  const hasSecret = (text: string) => isIn(text, exact) || isIn(text, base64);
  const hasPart = (text: string) => hasSecret(text) || isIn(text, ends);
  return {
    add(secret: string) {
      const texts = [secret, ...secret.split(/[\r\n]+/)].map((line) => line.trim());
      const added = texts.filter((text) => text.length >= minLength && !variable.test(text) && !known.has(text));
      if (added.length === 0) return;
      for (const text of added) known.add(text);
      // The longest comes first, because a secret can contain another secret.
      const secrets = [...known].sort((a, b) => b.length - a.length);
      exact = secrets.flatMap(listSpellings);
      base64 = secrets.flatMap(listBase64);
      ends = secrets.flatMap((secret) => [secret.slice(0, minEndLength), secret.slice(-minEndLength)]);
      ends = ends.filter(({ length }) => length === minEndLength).flatMap(listSpellings);
      const long = secrets.filter((text) => text.length >= minLengthInNames);
      inNames = [...long.flatMap(listSpellings), ...long.flatMap(listBase64)];
    },
    /** For a text from outside. */
    omit: (text: string) => (hasPart(text) ? omitted : text),
    /** For rollcall's own text. */
    redact(text: string) {
      if (!hasSecret(text)) return text;
      // The letters next to the found base64 depend on the secret, too.
      const rest = text.replace(/\S+/g, (word) => (isIn(word, base64) ? redacted : word));
      return exact.reduce((left, spelling) => left.replaceAll(spelling, redacted), rest);
    },
    omitInJson: (json: string) =>
      known.size > 0 && (json.includes("\\") || hasPart(json))
        ? omitStrings(json, (text, isName) =>
            readings(text).some((read) => (isName ? isIn(read, inNames) : hasPart(read))),
          )
        : json,
  };
};

const listSpellings = (secret: string) => [
  ...new Set([secret, JSON.stringify(secret).slice(1, -1), ...listPercentEncodings(secret)]),
];

/** With hex digits in capitals and in lower case. Some encoders leave more characters as they are than others. */
const listPercentEncodings = (text: string) =>
  [/[^\w.~-]/g, /[^\w.~!'()*-]/g].flatMap((encoded) => {
    const encode = (byte: string) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
    const spelled = Buffer.from(text).toString("latin1").replace(encoded, encode);
    return [spelled, spelled.replace(/%../g, (one) => one.toUpperCase())];
  });

/** Includes base64 that begins with other bytes, such as the user name in `Authorization: Basic`. */
const listBase64 = (text: string) =>
  [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    // These letters depend only on the text.
    const [start, end] = [Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6)];
    const forms = [padded.toString("base64"), padded.toString("base64url")].map((form) => form.slice(start, end));
    return forms.filter(({ length }) => length >= minBase64Length);
  });

/** Returns the text between the quotes of a JSON string and, if it has escapes, its value. */
const readings = (text: string): readonly string[] => {
  if (!text.includes("\\")) return [text];
  try {
    return [text, JSON.parse(`"${text}"`)];
  } catch {
    return [text];
  }
};

const omitStrings = (json: string, isOmitted: (text: string, isName: boolean) => boolean) => {
  let [result, copied] = ["", 0];
  for (let open = json.indexOf('"'), end = 0; open >= 0; open = json.indexOf('"', end)) {
    end = endOfString(json, open + 1);
    const isName = /^\s*:/.test(json.slice(end, end + 16));
    if (!isOmitted(json.slice(open + 1, end - 1), isName)) continue;
    result += `${json.slice(copied, open)}"${omitted}"`;
    copied = end;
  }
  return result + json.slice(copied);
};

/** Finds the passwords in URLs, and the values of options such as `--api-key`. */
export const findArgvSecrets = (args: readonly string[]) =>
  args.flatMap((word) => {
    const [, option = "", value = ""] = /^--?([\w-]+)=(.+)$/s.exec(word) ?? [];
    const isSecret = /token(?!s)|key|password|passwd|secret|credential|auth/i.test(option);
    const found = [...findPasswords(word), ...(isSecret ? [value] : [])];
    return found.flatMap((secret) => [secret, decodePercent(secret)]);
  });

/** Returns all texts from a colon to the last @, because a malformed URL has no clear password. */
const findPasswords = (word: string) => {
  const url = /^\w+:\/\//.test(word) && URL.canParse(word) ? new URL(word) : undefined;
  // In a valid URL without user and port, the @ does not end a password.
  if (url && `${url.username}${url.password}${url.port}` === "") return [];
  const start = word.slice(0, Math.max(0, word.lastIndexOf("@")));
  // Each match begins at the start of a word, so that the search takes linear time.
  const user = /(?:(?<![a-z\d+.-])[\d+.-]*[a-z][a-z\d+.-]*:[/\\]*|[/\\]{2})(.*)/is.exec(start)?.[1] ?? "";
  return Array.from(user.matchAll(/:/g), ({ index }) => user.slice(index + 1));
};
