/** The ids of calls that lines hold: plain, the first field of a row, or the `id` of a JSON object. */

import { isObject, newline, openBrace, parsedJson } from "../json/walk.ts";
import { callIdsMissing, callIdUnreadable } from "./failures.ts";

/** Longest text that can be an id: what is longer is some other file. */
const longestId = 1024;

/** Longest line: a whole call, as `call read -o jsonl` prints it, is one. */
const longestLine = 256 * 1024 * 1024;

/**
 * Reads the ids of lines, in their order; blank lines are skipped.
 * @throws Failure `call-id-unreadable`, and `call-ids-missing` unless there may be none
 */
export async function* idsOfLines(
  chunks: AsyncIterable<Uint8Array>,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): AsyncGenerator<string, void> {
  let line = 0;
  let found = 0;
  for await (const bytes of linesOf(chunks)) {
    line++;
    for (const id of idsOfLine(bytes, line)) {
      found++;
      yield id;
    }
  }
  if (found === 0 && !mayBeEmpty) throw callIdsMissing();
}

const tab = 0x09;

const idsOfLine = (bytes: Uint8Array, line: number): readonly string[] => {
  const start = bytes.findIndex((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
  if (start < 0) return [];
  if (bytes[start] === openBrace) return idsOfObject(textOf(bytes.subarray(start), line), line);
  const end = bytes.indexOf(tab, start);
  const field = bytes.subarray(start, end < 0 ? bytes.length : end);
  if (field.length > longestId) throw callIdUnreadable({ line, why: "too long" });
  return [unquoted(textOf(field, line).trim())];
};

/** A text of JSON, as `jq '.id'` prints it, without its quotes. */
const unquoted = (text: string): string => {
  if (!/^".+"$/.test(text)) return text;
  const value = parsedJson(text)?.value;
  return typeof value === "string" && value.trim() !== "" ? value.trim() : text;
};

/** The id of an object, or those of what rollcall itself wraps calls in: `call`, `calls`. */
const idsOfObject = (text: string, line: number): readonly string[] => {
  const value = parsedJson(text)?.value;
  if (value === undefined) throw callIdUnreadable({ line, why: "broken JSON" });
  const { id, call, calls }: { readonly [key: string]: unknown } = isObject(value) ? value : {};
  const holders: readonly unknown[] = id !== undefined ? [value] : Array.isArray(calls) ? calls : [call];
  const ids = holders.map((holder) => (isObject(holder) && typeof holder.id === "string" ? holder.id.trim() : ""));
  if (ids.includes("")) throw callIdUnreadable({ line, why: "an object without an id" });
  return ids;
};

const textOf = (bytes: Uint8Array, line: number): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw callIdUnreadable({ line, why: "not UTF-8" });
  }
};

/** Lines without their line feed. One longer than any call is given as soon as that is known. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      yield joined(begun, chunk.subarray(from, end));
      [begun, length, from] = [[], 0, end + 1];
    }
    if (from === chunk.length) continue;
    begun.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longestLine || (length > longestId && !isObjectOrRow(begun[0]))) yield joined(begun);
  }
  if (length > 0) yield joined(begun);
}

/** Whether a line may be longer than an id. */
const isObjectOrRow = (beginning: Uint8Array | undefined): boolean =>
  beginning !== undefined && (beginning.includes(openBrace) || beginning.subarray(0, longestId).includes(tab));

const joined = (pieces: readonly Uint8Array[], last?: Uint8Array): Uint8Array =>
  Buffer.concat(last === undefined ? pieces : [...pieces, last]);
