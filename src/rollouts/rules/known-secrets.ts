/** Finds and redacts secrets of well-known services. */

import { backslash, quote, type Span } from "../../json/json-bytes.ts";
import { cacheReader, type JsonReader } from "../../json/reader.ts";

export type SecretSpan = Span & Readonly<{ kind: string }>;

/**
 * The forms of keys, by their first three characters. gitleaks 8.30 (MIT, github.com/gitleaks/gitleaks,
 * config/gitleaks.toml) has those of Anthropic, OpenAI, Stripe, AWS, Google, GitHub, GitLab, Slack, Hugging Face, npm,
 * PyPI, JSON Web Tokens, SendGrid, Perplexity, Databricks, DigitalOcean, Vault, Grafana, Sentry, Postman, Shopify,
 * PlanetScale and Notion. Public code has the form of E2B and the prefixes of LangSmith, Tavily, NVIDIA, Together,
 * Prime Intellect, Cerebras, Fireworks and Modal. The others are unchecked.
 * A form that is a part of ordinary words begins with `^`, and matches only at the start of a word.
 */
const keyFormats: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["an API key of Anthropic", /sk-ant-[\w-]{20,}/],
  ["an API key of OpenRouter", /sk-or-[\w-]{20,}/],
  ["an API key of OpenAI", /^sk-[\w-]{20,}/],
  ["an API key of ElevenLabs", /sk_[a-f0-9]{48}(?![A-Za-z0-9])/],
  ["a secret key of Stripe", /[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}/],
  ["an access key of AWS", /^A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/],
  ["an API key of Google", /AIza[\w-]{35}/],
  ["a token of GitHub", /gh[pousr]_[A-Za-z0-9]{36,}/],
  ["a token of GitHub", /github_pat_\w{22,}/],
  ["a token of GitLab", /glpat-[\w-]{20,}/],
  ["a token of Slack", /xox[abeoprs]-[A-Za-z0-9-]{15,}/],
  ["a token of Hugging Face", /hf_[A-Za-z0-9]{30,}/],
  ["a token of npm", /npm_[A-Za-z0-9]{36}/],
  ["a token of PyPI", /pypi-AgE[\w-]{30,}/],
  ["an API key of Groq", /gsk_[A-Za-z0-9]{40,}/],
  ["an API key of xAI", /xai-[A-Za-z0-9]{40,}/],
  ["an API key of NVIDIA", /nvapi-[\w-]{40,}/],
  ["an API key of Together", /tgp_v1_[\w-]{30,}/],
  ["a token of Replicate", /^r8_[A-Za-z0-9]{30,}/],
  ["an API key of Weights & Biases", /wandb_v1_[\w-]{30,}/],
  ["a JSON Web Token", /^eyJ[\w-]{10,4096}\.eyJ[\w-]{10,4096}\.[\w-]{16,}/],
  ["an API key of SendGrid", /^SG\.[\w-]{16,128}\.[\w-]{16,}/],
  ["an API key of Daytona", /dtn_[a-f0-9]{40,}/],
  ["an API key of E2B", /e2b_[a-f0-9]{40}/],
  ["an API key of LangSmith", /lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}/],
  ["an API key of Tavily", /tvly-[A-Za-z0-9-]{20,}/],
  ["an API key of Prime Intellect", /^pit_[A-Za-z0-9]{30,}/],
  ["an API key of Cerebras", /csk-[a-z0-9]{40,}/],
  ["an API key of Perplexity", /pplx-[A-Za-z0-9]{48}/],
  ["an API key of Fireworks", /^fw_[A-Za-z0-9]{20,}/],
  ["a token of Databricks", /^dapi[a-f0-9]{32}(?:-\d)?/],
  ["a token of Slack", /xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}/],
  ["a token of DigitalOcean", /dop_v1_[a-f0-9]{64}/],
  ["a token of Vault", /hvs\.[\w-]{90,}/],
  ["a token of Grafana", /glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}/],
  ["a token of Sentry", /sntry[su]_[\w+/=]{40,}/],
  ["an API key of Postman", /PMAK-[a-f0-9]{24}-[a-f0-9]{34}/],
  ["a token of Shopify", /^shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}/],
  ["a password of PlanetScale", /pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}/],
  ["a token of Notion", /^ntn_[A-Za-z0-9]{40,}/],
  ["a token of Docker", /dckr_pat_[\w-]{27}/],
  ["a client secret of Google", /GOCSPX-[\w-]{28}/],
  ["an API key of Pinecone", /^pcsk_\w{50,}/],
  ["an API key of Jina", /^jina_[A-Za-z0-9]{50,}/],
  ["a token of Modal", /^a[ks]-[A-Za-z0-9]{22}(?![A-Za-z0-9])/],
];

/** Values that follow a name. Old keys of Weights & Biases look like commit ids, and keys of Exa are UUIDs. */
const separators = "(?:\\\\[nrt]|[fru]?[\\\\\"'`]|[: =>\\]]){1,12}";
const namedValues: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["an API key of Weights & Biases", new RegExp(`(?<=wandb_api_key${separators})[0-9a-f]{40}(?![\\w.-])`)],
  ["an API key of Exa", new RegExp(`(?<=exa_api_key${separators})[0-9a-f-]{36}(?![\\w.-])`)],
  ["a secret key of AWS", new RegExp(`(?<=secret_access_key${separators})[A-Za-z0-9/+]{40}(?![\\w/+.-])`)],
  ["an API key in a header", new RegExp(`(?<=(?:x_api_|api-)key${separators})[\\w.-]{20,}`)],
  [
    "a token in a header",
    new RegExp(`(?<=authorization${separators}(?:bearer|basic|token)${separators})[\\w.-]{20,}[\\w.~+/=-]*`),
  ],
  [
    "the URL of a Slack webhook",
    /(?<=hooks\.slack\.com\\{0,4}\/services\\{0,4}\/T\w{1,16}\\{0,4}\/B\w{6,14}\\{0,4}\/)[A-Za-z0-9]{20,}/,
  ],
  ["an API key", new RegExp(`(?<=api_?key${separators})[A-Za-z0-9]{32,}(?![\\w.-])`)],
  ["a password in a URL", /(?<=:(?:\\{0,4}\/){2}[^\s:@/"'\\]{0,100}:)[^\s@/"'\\]{8,200}(?=@)/],
];

/** At the start of a word, which can follow an escape, such as `\n` or `\u003c`. */
const wordStart = /(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]|\\u[\da-fA-F]{4}))/.source;
const combine = (formats: typeof keyFormats, flags: string) =>
  new RegExp(formats.map(([, { source }]) => `(${source.replace(/^\^/, () => wordStart)})`).join("|"), flags);
const openSearch = (formats: typeof keyFormats, flags: string) => ({
  formats,
  all: combine(formats, `g${flags}`),
  here: combine(formats, `y${flags}`),
});
const [keySearch, valueSearch] = [openSearch(keyFormats, ""), openSearch(namedValues, "i")];

const minSecretBytes = 20;
/** The longest name of `namedValues`, or user and password of a URL. */
const maxBytesBefore = 320;
/** A token in a header can have characters that no run has. */
const maxBytesAfter = 256;

const isKeyByte = Array.from({ length: 256 }, (_, byte) => /[\w.-]/.test(String.fromCharCode(byte)));

/** The first three bytes of each key, as a little-endian number. */
export const secretPrefixes = new Set<number>();
for (const [, { source }] of keyFormats) {
  const sets = source.replace(/^\^/, "").match(/\[\w+\]|\\?./g) ?? [];
  const letters = sets.slice(0, 3).map((set) => Array.from(set.replace(/\W(?=.)|\]/g, "")));
  const [firsts = [], seconds = [], thirds = []] = letters;
  for (const first of firsts)
    for (const second of seconds)
      for (const third of thirds) secretPrefixes.add(Buffer.from(first + second + third).readUIntLE(0, 3));
}

type SecretReader = Pick<JsonReader, "findRun" | "findMark">;

/** Finds secrets in JSON, in each spelling. A span contains no part of an escape. `reader` has the `bytes`. */
export const findSecrets = (bytes: Buffer, { start, end }: Span, reader: SecretReader, depth = 0) => {
  const found: SecretSpan[] = [];
  let isSpelled = false;
  for (let at = reader.findMark(start, end); at < end; ) {
    const mark = String.fromCharCode(bytes[at] ?? 0);
    const key = mark === "B" ? findPrivateKey(bytes, at, end) : undefined;
    if (key) found.push(key);
    if (mark === "@") found.push(...matchSecrets(bytes, { start: at - maxBytesBefore, end: at }, at + 1));
    isSpelled ||= mark === "0";
    at = reader.findMark(key?.end ?? at + 1, end);
  }
  for (let at = reader.findRun(start, end, minSecretBytes); at < end; at = reader.findRun(at, end, minSecretBytes)) {
    const from = at;
    while (at < end && isKeyByte[bytes[at] ?? 0]) at++;
    found.push(...findInRun(bytes, { start: from, end: at }, Math.min(end, at + maxBytesAfter)));
  }
  const plain = isSpelled && depth < maxDepth ? decode(bytes.subarray(start, end)) : undefined;
  if (plain)
    for (const secret of findInBytes(plain.bytes, depth + 1)) {
      const [first, last] = [plain.toOriginal(secret.start), plain.toOriginal(secret.end - 1)];
      found.push({ start: start + first.start, end: start + last.end, kind: secret.kind });
    }
  return found.length > 1 ? joinOverlaps(found) : found;
};

const withSecretReader = cacheReader({ runPrefixes: secretPrefixes });

export const findInBytes = (bytes: Buffer, depth = 0): readonly SecretSpan[] =>
  withSecretReader((reader) => {
    reader.reserve(bytes.length).set(bytes);
    return findSecrets(bytes, { start: 0, end: bytes.length }, reader, depth);
  });

/** Bounds the depth of JSON in strings. */
const maxDepth = 8;

/** Joins spans that share bytes. */
const joinOverlaps = (found: SecretSpan[]) => {
  const joined: SecretSpan[] = [];
  for (const span of found.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = joined.at(-1);
    if (!last || span.start >= last.end) joined.push(span);
    else if (span.end > last.end) joined[joined.length - 1] = { ...last, end: span.end };
  }
  return joined;
};

/** Finds the secrets that begin in `span`. They end before `end`. */
const matchSecrets = (bytes: Buffer, span: Span, end: number) => {
  const from = Math.max(0, span.start - maxBytesBefore);
  const found = listKeys(bytes.toString("latin1", from, end), (key) => !isPlaceholder(key));
  return found.flatMap((key) => {
    const [start, after] = [from + key.start, from + key.end];
    return start < span.start || start >= span.end || isInEscape(bytes, start) ? [] : { ...key, start, end: after };
  });
};

/** Finds the keys in a run, and the value of a name before it, without a search in all other bytes. */
const findInRun = (bytes: Buffer, run: Span, end: number) => {
  const from = Math.max(0, run.start - maxBytesBefore);
  const text = bytes.toString("latin1", from, end);
  const found: SecretSpan[] = [];
  /** Returns the end of a match, or the next byte. */
  const matchAt = ({ formats, here }: typeof keySearch, start: number) => {
    here.lastIndex = start - from;
    const match = here.exec(text);
    if (!match) return start + 1;
    const key = { start, end: start + match[0].length, kind: kindOf(formats, match) };
    if (!isPlaceholder(match[0]) && !isInEscape(bytes, start)) found.push(key);
    return key.end;
  };
  for (let at = run.start; at + 3 <= run.end; )
    at = secretPrefixes.has(bytes.readUIntLE(at, 3)) ? matchAt(keySearch, at) : at + 1;
  // The letter of an escape, such as `\n`, can begin the run.
  for (const start of [run.start, run.start + 1]) matchAt(valueSearch, start);
  return found;
};

const kindOf = (formats: typeof keyFormats, [, ...groups]: readonly (string | undefined)[]) =>
  formats[groups.findIndex((group) => group !== undefined)]?.[0] ?? "";

const listKeys = (text: string, isWanted: (key: string) => boolean): SecretSpan[] =>
  [keySearch, valueSearch].flatMap(({ formats, all }) =>
    Array.from(text.matchAll(all)).flatMap((match) => {
      const [key] = match;
      return isWanted(key) ? { start: match.index, end: match.index + key.length, kind: kindOf(formats, match) } : [];
    }),
  );

/** True for the letters of an escape, such as `n` or `u003c`. */
const isInEscape = (bytes: Buffer, at: number) => {
  for (let before = 1; before <= 5; before++) {
    if (bytes[at - before] !== backslash) continue;
    return countBackslashes(bytes, at - before) % 2 === 1 && (before === 1 || bytes[at - before + 1] === 0x75);
  }
  return false;
};

const countBackslashes = (bytes: Buffer, last: number) => {
  let first = last;
  while (bytes[first] === backslash) first--;
  return last - first;
};

/** Only these escapes can spell a part of a secret, or of an escape. The others stay, as line ends. */
const escapes = /\\(?:u([\da-f]{4})|["\\/])/gi;

/** Replaces escapes by their characters. A character that no secret contains becomes a line end. */
const decode = (bytes: Buffer) => {
  const text = bytes.toString("latin1");
  const replaced: (Span & { from: number; to: number })[] = [];
  const parts: string[] = [];
  let [copied, length] = [0, 0];
  for (const { 0: spelled, 1: hex, index } of text.matchAll(escapes)) {
    const unit = hex === undefined ? spelled.charCodeAt(1) : Number.parseInt(hex, 16);
    const character = unit >= 0x20 && unit < 0x7f ? String.fromCharCode(unit) : "\\n";
    const from = length + index - copied;
    parts.push(text.slice(copied, index), character);
    [copied, length] = [index + spelled.length, from + character.length];
    replaced.push({ start: index, end: copied, from, to: length });
  }
  if (replaced.length === 0) return undefined;
  let next = 0;
  /** Returns the bytes that spell the byte at an offset. The offsets ascend. */
  const toOriginal = (offset: number): Span => {
    while ((replaced[next]?.from ?? offset + 1) <= offset) next++;
    const before = replaced[next - 1];
    if (before && offset < before.to) return before;
    const start = before ? before.end + offset - before.to : offset;
    return { start, end: start + 1 };
  };
  return { bytes: Buffer.from(parts.join("") + text.slice(copied), "latin1"), toOriginal };
};

const keyHead = /-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----/;
const keyEnd = /-----END [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----/;
/** A head without such a line is only a mention of private keys. */
const keyLine = /[A-Za-z0-9+/=]{24,}/;

/** A private key without an end takes the rest of its string, but no other head. @param mark the `B` of its head */
const findPrivateKey = (bytes: Buffer, mark: number, end: number): SecretSpan | undefined => {
  const start = mark - "-----".length;
  if (keyHead.exec(bytes.toString("latin1", start, Math.min(end, mark + 120)))?.index !== 0) return undefined;
  const next = bytes.indexOf("-----BEGIN ", mark);
  const rest = bytes.subarray(0, next < 0 ? end : Math.min(next, end));
  let stop = rest.indexOf(quote, mark);
  while (stop >= 0 && countBackslashes(bytes, stop - 1) % 2 === 1) stop = rest.indexOf(quote, stop + 1);
  const text = rest.toString("latin1", start, stop < 0 ? rest.length : stop);
  const tail = keyEnd.exec(text);
  const key = tail ? text.slice(0, tail.index + tail[0].length) : text;
  const [line = ""] = keyLine.exec(key) ?? [];
  return isPlaceholder(line) ? undefined : { start, end: start + key.length, kind: "a private key" };
};

const minDistinctCharacters = 10;

/** Random letters have as many capitals as small letters, but names such as `AutoModelForCausalLM` few. */
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
const privateKeys = new RegExp(
  [
    `${keyHead.source}(?:[^]*?${keyEnd.source}|[^]*)`,
    // A match begins at the start of a word, so that the search takes linear time.
    "(?<![\\w+/=\\\\])[\\w+/=\\\\]{40,}\\\\n-----END [A-Z ]*PRIVATE KEY-----",
  ].join("|"),
  "g",
);

/** Each secret has this run, begins with this head, or is a password after this part of a URL. */
const canBeSecret = /[\w.+/=-]{16}|PRIVATE KEY|:[\\/]/;

const listSecrets = (text: string) => {
  // Most problems have a short message without such a run, and the search takes 20 µs.
  if (!canBeSecret.test(text)) return [];
  const keys = Array.from(text.matchAll(privateKeys), ({ 0: key, index }) => ({
    start: index,
    end: index + key.length,
  }));
  return joinOverlaps([...keys, ...listKeys(text, () => true)].map((span) => ({ kind: "", ...span })));
};

export const redactText = (text: string) => redactSecrets({ text, from: 0, to: 0 }).text;

/** Returns the redacted text, and the range from `from` to `to` in this text. */
export const redactSecrets = ({ text, from, to }: { text: string; from: number; to: number }) => {
  let [start, end] = [from, to];
  let [kept, copied] = ["", 0];
  for (const { start: index, end: after } of listSecrets(text)) {
    kept += text.slice(copied, index);
    // A range that starts or ends inside a key includes the whole redaction.
    const removed = after - kept.length - redaction.length;
    if (from > index) start = from >= after ? from - removed : kept.length;
    if (to > index) end = Math.max(to, after) - removed;
    kept += redaction;
    copied = after;
  }
  return { text: kept + text.slice(copied), from: start, to: Math.max(start, end) };
};
