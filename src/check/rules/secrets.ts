/** Finds what looks like a secret, by the key formats of well-known services, at a fraction of the cost of reading it. */
import { backslash, type Span } from "../../json/walk.ts";

/** A range of bytes that looks like a secret. */
interface Secret extends Span {
  /** What it looks like, with its article. */
  readonly kind: string;
}

/** Formats of keys. They are looked for where a run of key characters begins. */
const keyFormats: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["an API key of Anthropic", /^sk-ant-[\w-]{20,}/],
  ["an API key of OpenRouter", /^sk-or-[\w-]{20,}/],
  ["an API key of OpenAI", /^sk-[\w-]{20,}/],
  ["a secret key of Stripe", /^[sr]k_live_[A-Za-z0-9]{16,}/],
  ["an access key of AWS", /^A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/],
  ["an API key of Google", /^AIza[\w-]{35}/],
  ["a token of GitHub", /^(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/],
  ["a token of GitLab", /^glpat-[\w-]{20,}/],
  ["a token of Slack", /^xox[abeoprs]-[A-Za-z0-9-]{15,}/],
  ["a token of Hugging Face", /^hf_[A-Za-z0-9]{30,}/],
  ["a token of npm", /^npm_[A-Za-z0-9]{36}/],
  ["a token of PyPI", /^pypi-AgE[\w-]{30,}/],
  ["an API key of Groq", /^gsk_[A-Za-z0-9]{40,}/],
  ["an API key of xAI", /^xai-[A-Za-z0-9]{40,}/],
  ["an API key of NVIDIA", /^nvapi-[\w-]{40,}/],
  ["an API key of Together", /^tgp_v1_[\w-]{30,}/],
  ["a token of Replicate", /^r8_[A-Za-z0-9]{30,}/],
  ["an API key of Weights & Biases", /^wandb_v1_[\w-]{30,}/],
  ["a JSON Web Token", /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}/],
  ["an API key of SendGrid", /^SG\.[\w-]{16,}\.[\w-]{16,}/],
];

/** The shortest run of key characters that any format makes, and the characters of a run that are looked at. */
const [minRun, maxRun] = [20, 400];

/** Key characters: letters, digits, `_`, `-` and `.`. */
const isKeyByte = Uint8Array.from({ length: 256 }, (_, byte) => (/[\w.-]/.test(String.fromCharCode(byte)) ? 1 : 0));

/** 1 for the two bytes that each format begins with. */
const keyPrefixes = new Uint8Array(2 ** 16);
for (const both of "sk rk AK AS AI gh gi gl xo hf np py SG gs xa nv tg r8 wa ey".split(" ")) {
  keyPrefixes[Buffer.from(both).readUInt16BE()] = 1;
}

/** Finds where the first run of so many key characters begins in the bytes; the end if there is none. */
type FindRun = (from: number, end: number, length: number) => number;

const none: readonly Secret[] = [];

export const findSecrets = (bytes: Buffer, { start, end }: Span, findRun: FindRun): readonly Secret[] => {
  let found = none;
  for (let at = findRun(start, end, minRun); at < end; at = findRun(at, end, minRun)) {
    const secret = matchSecret(bytes, at, end);
    if (secret !== undefined) found = [...found, secret];
    while (at < end && isKeyByte[bytes[at] ?? 0] === 1) at++;
  }
  return found;
};

const matchSecret = (bytes: Buffer, from: number, end: number): Secret | undefined => {
  // A letter after a backslash is the end of an escape: `\nsk-…`.
  const isEscape = bytes[from - 1] === backslash;
  const start = isEscape ? from + 1 : from;
  if (isEscape && isPrivateKey(bytes, from))
    return { start, end: Math.min(end, start + maxRun), kind: "a private key" };
  if (keyPrefixes[((bytes[start] ?? 0) << 8) | (bytes[start + 1] ?? 0)] === 0) return undefined;
  const text = bytes.toString("latin1", start, Math.min(end, start + maxRun));
  for (const [kind, pattern] of keyFormats) {
    const [key] = pattern.exec(text) ?? [];
    if (key !== undefined) return isPlaceholder(key) ? undefined : { start, end: start + key.length, kind };
  }
  return undefined;
};

const dash = 0x2d;

const isPrivateKey = (bytes: Buffer, at: number): boolean =>
  bytes[at - 2] === dash &&
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\\+$/.test(bytes.toString("latin1", Math.max(0, at - 60), at));

/** Different characters that a key has at least. */
const minDistinctCharacters = 10;

/** True if it is what documents write in a key's place. */
const isPlaceholder = (key: string): boolean =>
  new Set(key).size < minDistinctCharacters ||
  !/\d/.test(key) ||
  /example|x{4}|1234567|abcdefgh|your|\.\.\./i.test(key);

const redaction = "***";

/** The same formats anywhere in a text, and private keys that begin or end outside it. */
const anyKeyFormat = new RegExp(
  [
    "-----BEGIN [A-Z ]*PRIVATE KEY-----[\\w+/=\\\\\\s-]*",
    "[\\w+/=\\\\]{40,}\\\\n-----END [A-Z ]*PRIVATE KEY-----",
    ...keyFormats.map(([, pattern]) => pattern.source.slice(1)),
    // Weights & Biases also has keys that look like the id of a commit: one is such a key if its name says so.
    "(?<![\\w])[0-9a-f]{40}(?!\\w)(?<=(?:wandb_api_key|WANDB_API_KEY)\\W{1,8}[0-9a-f]{40})",
  ].join("|"),
  "g",
);

/** A text, and a range in it. */
interface TextRange {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** The text without secrets. */
export const redactText = (text: string): string => text.replace(anyKeyFormat, redaction);

/** The text without secrets; the range moves with what is around it. */
export const redactSecrets = ({ text, from, to }: TextRange): TextRange => {
  let [start, end] = [from, to];
  /** Characters by which the blots so far are shorter than their keys. */
  let shorter = 0;
  for (const { 0: key, index } of text.matchAll(anyKeyFormat)) {
    const [at, after] = [index - shorter, index + key.length];
    shorter += key.length - redaction.length;
    // What begins or ends inside a key begins or ends with its blot.
    if (from > index) start = from >= after ? from - shorter : at;
    if (to > index) end = Math.max(to, after) - shorter;
  }
  return { text: redactText(text), from: start, to: Math.max(start, end) };
};
