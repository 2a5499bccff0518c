/** Redacts the secrets in JSON that the rule `secret-in-content` finds, in each spelling. */
import { openBrace, quote, type Span } from "../json/json-bytes.ts";
import { cacheReader, readTable } from "../json/reader.ts";
import * as json from "../json/table.ts";
import { findSecrets, redactText, type SecretSpan, secretPrefixes } from "./known-secrets.ts";

export class Redactor {
  readonly #counts = new Map<string, { kind: string; path: string; count: number }>();

  /** Counts the redacted secrets by kind and path, such as `messages[].content`. The path of a key is its object's. */
  get counts() {
    return [...this.#counts.values()];
  }

  /** @param line valid JSON. Other bytes stay as they are. */
  redact(line: Buffer): Buffer {
    let bytes = line;
    // The bytes after a redaction can begin another secret.
    for (;;) {
      const found = findInSpellings(bytes, 0);
      if (found.length === 0) return bytes;
      bytes = this.#replace(bytes, found);
    }
  }

  #replace(bytes: Buffer, found: readonly SecretSpan[]) {
    const table = readTable(bytes);
    if (!table) throw new Error("a redaction broke JSON");
    const parts: Buffer[] = [];
    /** The numbers of redacted keys, by object. */
    const keys = new Map<number, number>();
    let copied = 0;
    for (const { kind, ...secret } of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
      const { node, path } = json.findInnermost(table, { from: 0, byte: secret.start });
      const first = json.firstByteAt(table, node);
      const isText = first === quote || first === openBrace;
      const { start, end } = isText ? secret : json.spanOf({ table, node });
      if (start < copied) continue;
      const number = first === openBrace ? (keys.get(node) ?? 0) + 1 : 1;
      keys.set(node, number);
      // Two keys of an object must stay different.
      const mark = `[redacted: ${kind}${number > 1 ? ` ${number}` : ""}]`;
      parts.push(bytes.subarray(copied, start), Buffer.from(isText ? mark : JSON.stringify(mark)));
      copied = end;
      const key = `${kind} ${formatPath(path)}`;
      const counted = this.#counts.get(key) ?? { kind, path: formatPath(path), count: 0 };
      this.#counts.set(key, { ...counted, count: counted.count + 1 });
    }
    return Buffer.concat([...parts, bytes.subarray(copied)]);
  }
}

const formatPath = (path: json.Path) =>
  redactText(path.map((step) => (typeof step === "number" ? "[]" : `.${step}`)).join("")).replace(/^\./, "");

const withSecretReader = cacheReader({ runPrefixes: secretPrefixes });

/** Bounds the depth of JSON in strings. */
const maxDepth = 8;

const findInSpellings = (bytes: Buffer, depth: number): readonly SecretSpan[] => {
  const found = withSecretReader((reader) => {
    reader.reserve(bytes.length).set(bytes);
    return findSecrets(bytes, { start: 0, end: bytes.length }, reader);
  });
  const plain = depth < maxDepth && bytes.includes("\\u") ? decode(bytes) : undefined;
  if (!plain) return found;
  const inPlain = findInSpellings(plain.bytes, depth + 1).map(({ start, end, kind }) => ({
    start: plain.toOriginal(start).start,
    end: plain.toOriginal(end - 1).end,
    kind,
  }));
  return [...found, ...inPlain];
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
  /** Returns the bytes that spell the byte at an offset. */
  const toOriginal = (offset: number): Span => {
    const before = replaced.findLast(({ from }) => from <= offset);
    if (before && offset < before.to) return before;
    const start = before ? before.end + offset - before.to : offset;
    return { start, end: start + 1 };
  };
  return { bytes: Buffer.from(parts.join("") + text.slice(copied), "latin1"), toOriginal };
};
