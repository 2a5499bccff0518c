/** Says by which rule bytes that are not JSON are not. */
import { isUtf8 } from "node:buffer";
import type { SyntaxFault } from "../json/reader.ts";
import { isKey } from "../json/walk.ts";
import type { RuleData, RuleName } from "./rules/rules.ts";

/** The most bytes that are read at once: V8's strings end at 2^29 − 24 units (512 MiB). */
export const maxTextBytes = 2 ** 29 - 24;

/** Takes what is wrong. */
export type ReportFault = <Name extends RuleName>(rule: Name, data: RuleData<Name>) => void;

const pythonWords: ReadonlySet<string> = new Set(["True", "False", "None"]);

/** Says by which rule a fault is one. */
export const reportFault = (
  bytes: Buffer,
  {
    fault: { at, fault },
    last,
    isDocument,
    report,
  }: { fault: SyntaxFault; last: boolean; isDocument: boolean; report: ReportFault },
): void => {
  const word = wordAt(bytes, at);
  if (fault === "end") report("json-cut-off", { last, isDocument });
  else if (fault === "more") report("json-after", { lacksBrace: isKey(bytes, at) });
  else if (fault === "single-quote") report("json-single-quotes", undefined);
  else if (fault === "comment") report("json-comment", undefined);
  else if (fault === "word" && word.toLowerCase() === "nan") report("json-nan", { word, key: keyBefore(bytes, at) });
  else if (fault === "word" && /^-?inf(inity)?$/i.test(word))
    report("json-infinity", { word, key: keyBefore(bytes, at) });
  else if (fault === "word" && pythonWords.has(word)) report("json-python", { word });
  else report("json-syntax", { fault, word, text: characterAt(bytes, at), before: characterBefore(bytes, at) });
};

/** The key whose value begins at an offset; undefined if there is none close before it. */
const keyBefore = (bytes: Buffer, at: number): string | undefined =>
  /"([^"\\]*)"\s*:\s*$/.exec(bytes.toString("latin1", Math.max(0, at - maxKeyBytes), at))?.[1];

/** Bytes before a value that are looked at for its key. */
const maxKeyBytes = 80;

/** The word that starts at an offset, its sign included: `-Infinity`. */
const wordAt = (bytes: Buffer, at: number): string =>
  /^-?\w*/.exec(bytes.toString("latin1", at, at + maxWordLength))?.[0] ?? "";

const maxWordLength = 40;

/** The last byte before an offset that is not white space; undefined if there is none. */
const characterBefore = (bytes: Buffer, at: number): string | undefined => {
  let before = at - 1;
  while (before >= 0 && (bytes[before] ?? 0) <= 0x20) before--;
  return before < 0 ? undefined : bytes.toString("latin1", before, before + 1);
};

/** The character at an offset; one that nobody can see by its number. */
const characterAt = (bytes: Buffer, at: number): string => {
  const character = Array.from(bytes.toString("utf8", at, at + 4))[0] ?? "the end";
  const code = character.codePointAt(0) ?? 0;
  return /^[\p{C}\p{Z}]$/u.test(character) ? `U+${code.toString(16).toUpperCase().padStart(4, "0")}` : character;
};

/** Offset of the first byte that is not UTF-8. */
export const firstBadByte = (bytes: Buffer): number => {
  let low = 0;
  let high = bytes.length;
  // A prefix may end inside a character: it is whole where up to three bytes more or fewer make it so.
  const whole = (end: number) => [0, 1, 2, 3].some((back) => end >= back && isUtf8(bytes.subarray(0, end - back)));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (whole(middle)) low = middle;
    else high = middle - 1;
  }
  while (low > 0 && !isUtf8(bytes.subarray(0, low))) low--;
  return low;
};
