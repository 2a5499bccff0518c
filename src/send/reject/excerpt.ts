/** Reads the line of a problem, for the few that are shown: bounded, whatever the line holds. */

import { subjectOf } from "../../check/rules/rules.ts";
import { blotSecrets } from "../../check/rules/secrets.ts";
import type { Excerpt, Problem } from "../../failure.ts";
import { type Bytes, readRange, type Source, textOf } from "../../input/source.ts";
import { backslash, newline } from "../../json/walk.ts";

/** Bytes that are read before and behind a place: wider than terminals are, and than most secrets are long. */
const windowBytes = 6 * 1024;

/** Problems with the lines that they are on; as they are where that is no place of a file, or says nothing. */
export const withExcerpts = async (
  sources: readonly Source[],
  problems: readonly Problem[],
): Promise<readonly Problem[]> => {
  const shown: Problem[] = [];
  for (const problem of problems) {
    const text = textOf(sources, problem.file ?? "");
    const excerpt =
      text === undefined || subjectOf(problem.rule) === "whole" ? undefined : await excerptOf(text, problem);
    shown.push(excerpt === undefined ? problem : { ...problem, excerpt });
  }
  return shown;
};

const excerptOf = async (bytes: Bytes, { offset, line }: Problem): Promise<Excerpt | undefined> => {
  if (offset === undefined || line === undefined) return undefined;
  const first = Math.max(0, offset - windowBytes);
  const length = Math.min(bytes.size, offset + windowBytes) - first;
  // What was cut off meanwhile can't be shown, which is no reason to fail.
  const window = await readRange(bytes, { start: first, length }).catch(() => undefined);
  if (window === undefined) return undefined;
  const own = lineAround(window, { at: offset - first, open: first > 0, more: first + length < bytes.size });
  const text = window.toString("utf8", own.start, own.end);
  const from = window.toString("utf8", own.start, offset - first).length;
  const to = from + window.toString("utf8", offset - first, endOfToken(window, offset - first, own.end)).length;
  return { line, ...blotSecrets({ text, from, to }), cutBefore: own.cutBefore, cutBehind: own.cutBehind };
};

/** A line in a window, or as much of it as is there. */
interface Own {
  readonly start: number;
  readonly end: number;
  readonly cutBefore: boolean;
  readonly cutBehind: boolean;
}

const lineAround = (
  window: Buffer,
  { at, open, more }: { readonly at: number; readonly open: boolean; readonly more: boolean },
): Own => {
  const before = at === 0 ? -1 : window.lastIndexOf(newline, at - 1);
  const behind = window.indexOf(newline, at);
  const cutBefore = before < 0 && open;
  const cutBehind = behind < 0 && more;
  let start = before + 1;
  let end = behind < 0 ? window.length : behind;
  // A window may begin and end inside a character.
  while (cutBefore && start < at && isInside(window[start])) start++;
  while (cutBehind && end > at && isInside(window[end - 1])) end--;
  if (cutBehind && end > at && (window[end - 1] ?? 0) >= 0xc0) end--;
  return { start, end, cutBefore, cutBehind };
};

const isInside = (byte = 0): boolean => byte >= 0x80 && byte < 0xc0;

const quotes: ReadonlySet<number> = new Set([0x22, 0x27]);

/** Where the string, number or word that begins at a byte ends; the character behind it where there is none. */
const endOfToken = (window: Buffer, at: number, end: number): number => {
  const first = window[at];
  if (first === undefined || at >= end) return at;
  let to = at + 1;
  if (quotes.has(first)) {
    while (to < end && window[to] !== first) to += window[to] === backslash ? 2 : 1;
    return Math.min(to + 1, end);
  }
  const isWord = (byte = 0): boolean => /[\w+.-]/.test(String.fromCharCode(byte)) && byte < 0x80;
  if (isWord(first)) while (to < end && isWord(window[to])) to++;
  else while (to < end && isInside(window[to])) to++;
  return to;
};
