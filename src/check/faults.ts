/** Says by which rule bytes that are not JSON are not. */
import { isUtf8 } from "node:buffer";
import type { SyntaxFault } from "../json/reader.ts";
import { isKey } from "../json/walk.ts";
import type { RuleData, RuleName } from "./rules/rules.ts";

/** The most bytes that are read at once: V8's strings end at 2^29 − 24 units (512 MiB). */
export const maxTextBytes = 2 ** 29 - 24;

/** Takes what is wrong. */
export type ReportFault = <Name extends RuleName>(rule: Name, data: RuleData<Name>) => void;

/** A fault, and the text that has it. */
interface FaultOptions {
  readonly fault: Pick<SyntaxFault, "at" | "fault">;
  /** True if these are the last bytes of the source. */
  readonly last: boolean;
  readonly isDocument: boolean;
  readonly report: ReportFault;
}

const pythonWords: ReadonlySet<string> = new Set(["True", "False", "None"]);

/** Reports a fault by its rule. */
export const reportFault = (bytes: Buffer, { fault: { at, fault }, last, isDocument, report }: FaultOptions): void => {
  const around = (start: number, end: number): string => bytes.toString("latin1", Math.max(0, start), end);
  /** The word that starts there, its sign included: `-Infinity`. */
  const [word = ""] = /^-?\w*/.exec(around(at, at + maxWordLength)) ?? [];
  /** The key whose value begins there. */
  const key = /"([^"\\]*)"\s*:\s*$/.exec(around(at - maxKeyBytes, at))?.[1];
  if (fault === "end") report("json-cut-off", { last, isDocument });
  else if (fault === "more") report("json-after", { lacksBrace: isKey(bytes, at) });
  else if (fault === "single-quote") report("json-single-quotes", undefined);
  else if (fault === "comment") report("json-comment", undefined);
  else if (fault === "word" && word.toLowerCase() === "nan") report("json-nan", { word, key });
  else if (fault === "word" && /^-?inf(inity)?$/i.test(word)) report("json-infinity", { word, key });
  else if (fault === "word" && pythonWords.has(word)) report("json-python", { word });
  else report("json-syntax", { fault, word, text: characterAt(bytes, at), before: characterBefore(bytes, at) });
};

const maxWordLength = 40;

/** Bytes before a value that are looked at for its key. */
const maxKeyBytes = 80;

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
  let [low, high] = [0, bytes.length];
  // A prefix may end inside a character: it is whole if up to three bytes fewer make it so.
  const isWhole = (end: number) => [0, 1, 2, 3].some((back) => end >= back && isUtf8(bytes.subarray(0, end - back)));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isWhole(middle)) low = middle;
    else high = middle - 1;
  }
  while (low > 0 && !isUtf8(bytes.subarray(0, low))) low--;
  return low;
};
