/** Finds keys of well-known services, and private keys. */
import type { Span } from "../../json/json-bytes.ts";

const privateKey = "a private key";

/**
 * The forms of keys. gitleaks 8.30 (MIT, github.com/gitleaks/gitleaks, config/gitleaks.toml) has most of them. A length
 * is limited, because a search for a longer text can fill the stack.
 */
const formats: readonly (readonly [kind: string, form: RegExp])[] = [
  ["an API key of Anthropic", /sk-ant-[\w-]{20,200}/],
  ["an API key of OpenRouter", /sk-or-[\w-]{20,200}/],
  ["an API key of OpenAI", /sk-[\w-]{20,200}/],
  ["a secret key of Stripe", /[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}/],
  ["an access key of AWS", /A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/],
  ["an API key of Google", /AIza[\w-]{35}/],
  ["a token of GitHub", /gh[pousr]_[A-Za-z0-9]{36,200}/],
  ["a token of GitHub", /github_pat_\w{22,200}/],
  ["a token of GitLab", /glpat-[\w-]{20,200}/],
  ["a token of Slack", /xox[abeoprs]-[A-Za-z0-9-]{15,200}/],
  ["a token of Hugging Face", /hf_[A-Za-z0-9]{30,200}/],
  ["a token of npm", /npm_[A-Za-z0-9]{36}/],
  ["a token of PyPI", /pypi-AgE[\w-]{30,200}/],
  ["an API key of Groq", /gsk_[A-Za-z0-9]{40,200}/],
  ["an API key of xAI", /xai-[A-Za-z0-9]{40,200}/],
  ["an API key of NVIDIA", /nvapi-[\w-]{40,200}/],
  ["an API key of Together", /tgp_v1_[\w-]{30,200}/],
  ["an API key of Weights & Biases", /wandb_v1_[\w-]{30,200}/],
  ["a token of Replicate", /r8_[A-Za-z0-9]{30,200}/],
  // A head without a line of a key is only a mention.
  [privateKey, /-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----[^"]{0,200}?[A-Za-z0-9+/=]{24}[^"]*/],
];

/** The last three bytes of the fixed start of each form (src/json/kernel/endings.ts). */
export const secretEndings =
  "sk- sk_ rk_ AKI ASI AIz hp_ ho_ hu_ hs_ hr_ at_ at- xa- xb- xe- xo- xp- xr- xs- hf_ pm_ pi- ai- v1_ r8_ --B".split(
    " ",
  );

/** A key begins a word, which can follow an escape such as `\n`. */
const keys = new RegExp(
  `(?:(?<![A-Za-z0-9])|(?<=\\\\[bfnrt]))(?:${formats.map(([, { source }]) => `(${source})`).join("|")})`,
  "g",
);

const maxBytesBefore = 16;
const maxBytesAfter = 512;

type SecretSpan = Span & Readonly<{ kind: string }>;

/** Finds the keys in `span` that have one of the `endings`, which ascend. */
export const findSecrets = (bytes: Buffer, span: Span, endings: readonly number[]) => {
  const found: SecretSpan[] = [];
  for (const at of endings) {
    const isHead = bytes[at] === letterB;
    if (at < (found.at(-1)?.end ?? 0) || !(isHead || isBeforeRun(bytes, at))) continue;
    const from = Math.max(span.start, at - maxBytesBefore);
    const after = bytes.toString("latin1", at, Math.min(span.end, at + maxBytesAfter));
    // The next head is another candidate.
    const near = bytes.toString("latin1", from, at) + after.split("-----BEGIN ", 1)[0];
    const key = listKeys(near).find(({ start, end }) => from + start <= at && at < from + end);
    if (key && !(key.kind !== privateKey && isPlaceholder(near.slice(key.start, key.end))))
      found.push({ kind: key.kind, start: from + key.start, end: from + key.end });
  }
  return found;
};

const letterB = 0x42;
const isKeyByte = Array.from({ length: 256 }, (_, byte) => /[\w-]/.test(String.fromCharCode(byte)));
/** Each key has at least this many bytes after its fixed start. */
const minRun = 15;

const isBeforeRun = (bytes: Buffer, at: number) => {
  let end = at + 1;
  while (end <= at + minRun && isKeyByte[bytes[end] ?? 0]) end++;
  return end > at + minRun;
};

const listKeys = (text: string) =>
  Array.from(text.matchAll(keys), ({ 0: key, index, ...groups }): SecretSpan => {
    const kind = formats.find((_, at) => groups[at + 1] !== undefined)?.[0] ?? "";
    return { kind, start: index, end: index + key.length };
  });

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

export const redactText = (text: string) => redactSecrets({ text, from: 0, to: 0 }).text;

/** Returns the redacted text, and the range from `from` to `to` in this text. */
export const redactSecrets = ({ text, from, to }: { text: string; from: number; to: number }) => {
  let [start, end] = [from, to];
  let [kept, copied] = ["", 0];
  for (const { start: index, end: after } of listKeys(text)) {
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
