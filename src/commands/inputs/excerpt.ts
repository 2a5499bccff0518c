/** Reads the line of a problem, for the few that are shown: bounded, whatever the line contains. */

import { blotSecrets, subjectOf } from "../../check/index.ts";
import type { Excerpt, Problem } from "../../failure.ts";
import { type Bytes, readRange, type Source, textOf } from "../../input/index.ts";
import { backslash, endOfLine, newline } from "../../json/walk.ts";

/** Bytes that are read before and after a position: more than a terminal is wide, and than most secrets are long. */
const windowBytes = 6 * 1024;

/** Adds the lines to problems that have a position in a file and are not about the whole file. */
export const withExcerpts = async (
  sources: readonly Source[],
  problems: readonly Problem[],
): Promise<readonly Problem[]> => {
  const shown: Problem[] = [];
  for (const problem of problems) {
    const text = subjectOf(problem.rule) === "whole" ? undefined : textOf(sources, problem.file ?? "");
    const excerpt = text && (await excerptOf(text, problem));
    shown.push(excerpt === undefined ? problem : { ...problem, excerpt });
  }
  return shown;
};

const excerptOf = async (bytes: Bytes, { offset, line }: Problem): Promise<Excerpt | undefined> => {
  if (offset === undefined || line === undefined) return undefined;
  const first = Math.max(0, offset - windowBytes);
  const length = Math.min(bytes.size, offset + windowBytes) - first;
  // The file may have become shorter, which is no reason to fail.
  const window = await readRange(bytes, { start: first, length }).catch(() => undefined);
  if (window === undefined) return undefined;
  const at = offset - first;
  const before = at === 0 ? -1 : window.lastIndexOf(newline, at - 1);
  let [start, end] = [before + 1, endOfLine(window, at)];
  const cutBefore = before < 0 && first > 0;
  const cutBehind = end === window.length && first + length < bytes.size;
  // A window may begin and end inside a character.
  while (cutBefore && start < at && isInside(window[start])) start++;
  while (cutBehind && end > at && isInside(window[end - 1])) end--;
  if (cutBehind && end > at && (window[end - 1] ?? 0) >= 0xc0) end--;
  const text = window.toString("utf8", start, end);
  const from = window.toString("utf8", start, at).length;
  const to = from + window.toString("utf8", at, endOfToken(window, at, end)).length;
  return { line, ...blotSecrets({ text, from, to }), cutBefore, cutBehind };
};

/** True for a byte that continues a character. */
const isInside = (byte = 0): boolean => byte >= 0x80 && byte < 0xc0;

const quotes: ReadonlySet<number> = new Set([0x22, 0x27]);

/** The end of the string, number or word that begins at a byte, or of the character if there is none. */
const endOfToken = (window: Buffer, at: number, end: number): number => {
  const first = window[at];
  if (first === undefined || at >= end) return at;
  let to = at + 1;
  if (quotes.has(first)) {
    while (to < end && window[to] !== first) to += window[to] === backslash ? 2 : 1;
    return Math.min(to + 1, end);
  }
  const isWord = (byte = 0): boolean => byte < 0x80 && /[\w+.-]/.test(String.fromCharCode(byte));
  const continues = isWord(first) ? isWord : isInside;
  while (to < end && continues(window[to])) to++;
  return to;
};
