/** Finds and redacts secrets of well-known services. */

import { backslash, type Span } from "../json/json-bytes.ts";
import type { JsonReader } from "../json/reader.ts";

export type SecretSpan = Span & Readonly<{ kind: string }>;

/** Each pattern must begin with two characters or character sets, which become `secretPrefixes`. */
const keyFormats: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["an API key of Anthropic", /^sk-ant-[\w-]{20,}/],
  ["an API key of OpenRouter", /^sk-or-[\w-]{20,}/],
  ["an API key of OpenAI", /^sk-[\w-]{20,}/],
  ["a secret key of Stripe", /^[sr]k_live_[A-Za-z0-9]{16,}/],
  ["an access key of AWS", /^A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/],
  ["an API key of Google", /^AIza[\w-]{35}/],
  ["a token of GitHub", /^gh[pousr]_[A-Za-z0-9]{36,}/],
  ["a token of GitHub", /^github_pat_\w{22,}/],
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

const minSecretBytes = 20;
/** Bounds the time for one run of letters. Longer secrets end with the run. */
const maxSecretBytes = 4096;
const maxPrivateKeyBytes = 16_384;

const markBytes = (pattern: RegExp) =>
  Array.from({ length: 256 }, (_, byte) => pattern.test(String.fromCharCode(byte)));
const isKeyByte = markBytes(/[\w.-]/);
const isHexByte = markBytes(/[\da-f]/);

const hexPair = "[0123456789abcdef][0123456789abcdef]";

/** The first two bytes of each secret, as a little-endian number. */
export const secretPrefixes = new Set<number>();
for (const source of [...keyFormats.map(([, { source }]) => source), hexPair]) {
  const [firsts = "", seconds = ""] = (source.match(/\[\w+\]|\w/g) ?? []).map((set) => set.replace(/\W/g, ""));
  for (const first of firsts)
    for (const second of seconds) secretPrefixes.add(first.charCodeAt(0) | (second.charCodeAt(0) << 8));
}

/** Finds secrets in JSON. A span contains no part of an escape. @param reader the reader of `bytes` */
export const findSecrets = (bytes: Buffer, { start, end }: Span, reader: Pick<JsonReader, "findRun">) => {
  const found: SecretSpan[] = [];
  for (let at = reader.findRun(start, end, minSecretBytes); at < end; at = reader.findRun(at, end, minSecretBytes)) {
    const from = at;
    while (at < end && isKeyByte[bytes[at] ?? 0]) at++;
    const secret = matchSecret(bytes, { start: from, end: at }, end);
    if (secret) found.push(secret);
  }
  return found;
};

const matchSecret = (bytes: Buffer, run: Span, end: number): SecretSpan | undefined => {
  // In `\nsk-…`, the letter n belongs to an escape, not to the key.
  const isEscape = bytes[run.start - 1] === backslash;
  const start = isEscape ? run.start + 1 : run.start;
  if (isEscape && isPrivateKey(bytes, run.start))
    return { start, end: findPrivateKeyEnd(bytes, start, end), kind: "a private key" };
  if (!secretPrefixes.has(bytes.readUInt16LE(start))) return undefined;
  if (isHexByte[bytes[start] ?? 0] && isHexByte[bytes[start + 1] ?? 0]) return matchNamedKey(bytes, start);
  const text = bytes.toString("latin1", start, Math.min(run.end, start + maxSecretBytes));
  for (const [kind, pattern] of keyFormats) {
    const [key] = pattern.exec(text) ?? [];
    if (key === undefined) continue;
    return isPlaceholder(key) ? undefined : { start, end: key === text ? run.end : start + key.length, kind };
  }
  return undefined;
};

/** Old keys of Weights & Biases look like commit ids, so `wandb_api_key` must precede the key. */
const namedKey = /(?<!\w)[0-9a-f]{40}(?!\w)(?<=(?:wandb_api_key|WANDB_API_KEY)\W{1,8}[0-9a-f]{40})/;
const namedKeyLength = 40;

const maxBytesBeforeKey = 24;

const matchNamedKey = (bytes: Buffer, start: number) => {
  const end = start + namedKeyLength;
  for (let at = start; at < end; at++) if (!isHexByte[bytes[at] ?? 0]) return undefined;
  if (isKeyByte[bytes[end] ?? 0]) return undefined;
  const [key] = namedKey.exec(bytes.toString("latin1", Math.max(0, start - maxBytesBeforeKey), end)) ?? [];
  return key === undefined || isPlaceholder(key) ? undefined : { start, end, kind: "an API key of Weights & Biases" };
};

const dash = 0x2d;

const isPrivateKey = (bytes: Buffer, at: number) => {
  let before = at - 1;
  while (bytes[before] === backslash) before--;
  const line = () => bytes.toString("latin1", Math.max(0, before - 60), before + 1);
  return bytes[before] === dash && /-----BEGIN [A-Z ]*PRIVATE KEY-----$/.test(line());
};

/** Without its last line, a private key ends at the first byte that base64 and line ends do not contain. */
const privateKeyRest = /^(?:[\w+/=:, -]|\\+[nrt/])*?-----END [A-Z ]*PRIVATE KEY-----|^(?:(?:\\+[nrt/])*[\w+/=])*/;

const findPrivateKeyEnd = (bytes: Buffer, start: number, end: number) => {
  const text = bytes.toString("latin1", start, Math.min(end, start + maxPrivateKeyBytes));
  return start + (privateKeyRest.exec(text)?.[0].length ?? 0);
};

const minDistinctCharacters = 10;

/** Random letters have about as many capitals as small letters, but names such as `AutoModelForCausalLM` have few. */
const hasRandomLetters = (key: string) => {
  const [letters = ""] = /[A-Za-z]{30,}$/.exec(key) ?? [];
  const capitalShare = letters.replace(/[^A-Z]/g, "").length / letters.length;
  return capitalShare > 0.25 && capitalShare < 0.75;
};

const isPlaceholder = (key: string) =>
  new Set(key).size < minDistinctCharacters ||
  !(/\d/.test(key) || hasRandomLetters(key)) ||
  /example|x{4}|1234567|abcdefgh|your|\.\.\./i.test(key);

const redaction = "***";

/** A private key matches even if the start or the end is missing. */
const anyKeyFormat = new RegExp(
  [
    "-----BEGIN [A-Z ]*PRIVATE KEY-----[\\w+/=\\\\\\s-]*",
    // A match begins at the start of a word, so that the search takes linear time.
    "(?<![\\w+/=\\\\])[\\w+/=\\\\]{40,}\\\\n-----END [A-Z ]*PRIVATE KEY-----",
    ...keyFormats.map(([, pattern]) => pattern.source.slice(1)),
    namedKey.source,
  ].join("|"),
  "g",
);

export const redactText = (text: string) => text.replace(anyKeyFormat, redaction);

/** Returns the redacted text, and the range from `from` to `to` in this text. */
export const redactSecrets = ({ text, from, to }: { text: string; from: number; to: number }) => {
  let [start, end] = [from, to];
  let removedLength = 0;
  for (const { 0: key, index } of text.matchAll(anyKeyFormat)) {
    const [at, after] = [index - removedLength, index + key.length];
    removedLength += key.length - redaction.length;
    // A range that starts or ends inside a key includes the whole redaction.
    if (from > index) start = from >= after ? from - removedLength : at;
    if (to > index) end = Math.max(to, after) - removedLength;
  }
  return { text: redactText(text), from: start, to: Math.max(start, end) };
};
