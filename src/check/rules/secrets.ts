/** Finds what looks like a secret, by the key formats of well-known services, at a fraction of the cost of reading it. */
import { backslash } from "../../json/walk.ts";

/** A piece of bytes that looks like a secret. */
interface Secret {
  readonly start: number;
  readonly end: number;
  /** What it looks like, with its article. */
  readonly kind: string;
}

/** A format of keys. It is looked for where a run of key characters begins. */
interface KeyFormat {
  readonly kind: string;
  readonly pattern: RegExp;
}

const formats: readonly KeyFormat[] = [
  { kind: "an API key of Anthropic", pattern: /^sk-ant-[\w-]{20,}/ },
  { kind: "an API key of OpenRouter", pattern: /^sk-or-[\w-]{20,}/ },
  { kind: "an API key of OpenAI", pattern: /^sk-[\w-]{20,}/ },
  { kind: "a secret key of Stripe", pattern: /^[sr]k_live_[A-Za-z0-9]{16,}/ },
  { kind: "an access key of AWS", pattern: /^A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/ },
  { kind: "an API key of Google", pattern: /^AIza[\w-]{35}/ },
  { kind: "a token of GitHub", pattern: /^(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/ },
  { kind: "a token of GitLab", pattern: /^glpat-[\w-]{20,}/ },
  { kind: "a token of Slack", pattern: /^xox[abeoprs]-[A-Za-z0-9-]{15,}/ },
  { kind: "a token of Hugging Face", pattern: /^hf_[A-Za-z0-9]{30,}/ },
  { kind: "a token of npm", pattern: /^npm_[A-Za-z0-9]{36}/ },
  { kind: "a token of PyPI", pattern: /^pypi-AgE[\w-]{30,}/ },
  { kind: "an API key of Groq", pattern: /^gsk_[A-Za-z0-9]{40,}/ },
  { kind: "an API key of xAI", pattern: /^xai-[A-Za-z0-9]{40,}/ },
  { kind: "an API key of NVIDIA", pattern: /^nvapi-[\w-]{40,}/ },
  { kind: "an API key of Together", pattern: /^tgp_v1_[\w-]{30,}/ },
  { kind: "a token of Replicate", pattern: /^r8_[A-Za-z0-9]{30,}/ },
  { kind: "an API key of Weights & Biases", pattern: /^wandb_v1_[\w-]{30,}/ },
  { kind: "a JSON Web Token", pattern: /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}/ },
  { kind: "an API key of SendGrid", pattern: /^SG\.[\w-]{16,}\.[\w-]{16,}/ },
];

/** The shortest run of key characters that any format makes. */
const shortest = 20;

/** Characters of a run that are looked at. */
const longest = 400;

/** Key characters: letters, digits, `_`, `-` and `.`. */
const keyByte = Uint8Array.from({ length: 256 }, (_, byte) => (/[\w.-]/.test(String.fromCharCode(byte)) ? 1 : 0));

/** 1 for the two bytes that each format begins with. */
const beginnings = new Uint8Array(2 ** 16);
for (const both of "sk rk AK AS AI gh gi gl xo hf np py SG gs xa nv tg r8 wa ey".split(" ")) {
  beginnings[Buffer.from(both).readUInt16BE()] = 1;
}

const dash = 0x2d;

/** Finds runs of key characters in the bytes: where the first one of a length begins, the end if there is none. */
type FindRun = (from: number, end: number, length: number) => number;

/** The secrets in a range of bytes of JSON. */
export const secretsIn = (
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  findRun: FindRun,
): readonly Secret[] => {
  let found: Secret[] | undefined;
  for (let at = findRun(start, end, shortest); at < end; at = findRun(at, end, shortest)) {
    const secret = secretAt(bytes, at, end);
    if (secret !== undefined) found = [...(found ?? none), secret];
    while (at < end && keyByte[bytes[at] ?? 0] === 1) at++;
  }
  return found ?? none;
};

const none: readonly Secret[] = [];

const secretAt = (bytes: Buffer, from: number, end: number): Secret | undefined => {
  // A letter behind a backslash is the end of an escape: `\nsk-…`.
  const escaped = bytes[from - 1] === backslash;
  const start = escaped ? from + 1 : from;
  if (escaped && bytes[from - 2] === dash && isPrivateKey(bytes, from)) {
    return { start, end: Math.min(end, start + longest), kind: "a private key" };
  }
  if (beginnings[((bytes[start] ?? 0) << 8) | (bytes[start + 1] ?? 0)] === 0) return undefined;
  const text = bytes.toString("latin1", start, Math.min(end, start + longest));
  for (const { kind, pattern } of formats) {
    const [key] = pattern.exec(text) ?? [];
    if (key !== undefined) return isMadeUp(key) ? undefined : { start, end: start + key.length, kind };
  }
  return undefined;
};

const isPrivateKey = (bytes: Buffer, at: number): boolean =>
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\\+$/.test(bytes.toString("latin1", Math.max(0, at - 60), at));

/** Different characters that a key has at least. */
const minCharacters = 10;

/** Whether it is what documents write in a key's place. */
const isMadeUp = (key: string): boolean =>
  new Set(key).size < minCharacters || !/\d/.test(key) || /example|x{4}|1234567|abcdefgh|your|\.\.\./i.test(key);

/** What is shown in a secret's place. */
const blot = "***";

/** The same formats anywhere in a text, and private keys that begin or end outside it. */
const anywhere = new RegExp(
  [
    "-----BEGIN [A-Z ]*PRIVATE KEY-----[\\w+/=\\\\\\s-]*",
    "[\\w+/=\\\\]{40,}\\\\n-----END [A-Z ]*PRIVATE KEY-----",
    ...formats.map(({ pattern }) => pattern.source.slice(1)),
    // Weights & Biases also has keys that look like the id of a commit: one is such a key if its name says so.
    "(?<![\\w])[0-9a-f]{40}(?!\\w)(?<=(?:wandb_api_key|WANDB_API_KEY)\\W{1,8}[0-9a-f]{40})",
  ].join("|"),
  "g",
);

/** A text, and a place in it. */
interface Marked {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** The text without secrets. */
export const withoutSecrets = (text: string): string => blotSecrets({ text, from: 0, to: 0 }).text;

/** The text without secrets; the place moves with what is around it. */
export const blotSecrets = ({ text, from, to }: Marked): Marked => {
  const parts: string[] = [];
  let copied = 0;
  let [start, end] = [from, to];
  let length = 0;
  for (const { 0: key, index } of text.matchAll(anywhere)) {
    const behind = index + key.length;
    parts.push(text.slice(copied, index), blot);
    const at = length + index - copied;
    length = at + blot.length;
    // What begins or ends inside a key begins or ends with its blot.
    if (from > index) start = from >= behind ? length + from - behind : at;
    if (to > index) end = length + Math.max(0, to - behind);
    copied = behind;
  }
  parts.push(text.slice(copied));
  return { text: parts.join(""), from: start, to: Math.max(start, end) };
};
