/** The service's answers to log requests: kept while they are small, otherwise counted. */
import type { Attempt } from "../client/index.ts";
import { faultIn } from "../json/reader.ts";
import { childrenOf, firstByteOf, memberAt, parsedAt, rootOf, spanOf } from "../json/table.ts";
import { openBracket, quote, textOf } from "../json/walk.ts";

/** Bytes of answers that are kept together (cli.md, "`log --json`"). */
const maxBytes = 64 * 1024;

/** One answer. Its body is undefined if all answers together are too large to print. */
export interface Answer {
  readonly status: number;
  readonly bytes: number;
  readonly body: Uint8Array | undefined;
}

/** The answers of a run. */
export interface Answers {
  /** In the order they came. */
  entries: Answer[];
  /** Bytes of all bodies. */
  bytes: number;
  /** The first call that an answer names. */
  firstCall: string | undefined;
  /** Answers to logged requests that ended before they were complete, and those that are not JSON. */
  readonly unreadable: { cut: number; notJson: number };
}

export const noAnswers = (): Answers => ({
  entries: [],
  bytes: 0,
  firstCall: undefined,
  unreadable: { cut: 0, notJson: 0 },
});

/** Adds an answer, and the list of calls that it names. */
export const addAnswer = (
  answers: Answers,
  { status, body, cut }: Pick<Attempt & { kind: "answered" }, "status" | "body" | "cut">,
  calls: string,
): void => {
  answers.bytes += body.length;
  answers.entries.push({ status, bytes: body.length, body });
  if (answers.bytes > maxBytes) answers.entries = answers.entries.map((entry) => ({ ...entry, body: undefined }));
  if (status < 200 || status >= 300) return;
  if (calls !== noCalls) answers.firstCall ??= firstCallOf(calls);
  if (cut) answers.unreadable.cut++;
  else if (calls === noCalls && body.length > 0 && faultIn(body) !== undefined) answers.unreadable.notJson++;
};

/** The list of no calls. */
export const noCalls = "[]";

/**
 * Returns the JSON list of the calls that an answer names. There may be hundreds of thousands, which are not looked at.
 * Assumed: `call_ids`, a list of strings, as in the local service.
 */
export const callsTextOf = (body: Uint8Array): string => {
  const list = memberAt(rootOf(body), "call_ids");
  if (list === undefined || firstByteOf(list) !== openBracket) return noCalls;
  for (const [, call] of childrenOf(list)) if (firstByteOf(call) !== quote) return noCalls;
  return textOf(body, spanOf(list));
};

const firstCallOf = (calls: string): string | undefined => {
  const list = rootOf(Buffer.from(calls));
  const first = list && childrenOf(list).next().value?.[1];
  const id = first && parsedAt(first);
  return typeof id === "string" ? id : undefined;
};
