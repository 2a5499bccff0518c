/** What sending came to: how far it is, the service's answers, and how it ended. */
import type { Attempt } from "../client/index.ts";
import type { Failure, Problem } from "../failure.ts";
import { findFault } from "../json/reader.ts";
import { childrenOf, firstByteOf, memberAt, parseValue, readRoot, spanOf } from "../json/table.ts";
import { openBracket, quote, sliceText } from "../json/walk.ts";
import type { RefusedGroup } from "./handle-refusal.ts";
import type { Outcome, SentRequest } from "./request.ts";

/** How far sending is. */
export interface SendProgress {
  /** Requests that have an outcome, and all requests so far. */
  readonly requests: number;
  readonly of: number;
  /** Bytes and groups that are logged; bytes that are being sent count too. */
  readonly bytes: number;
  readonly ofBytes: number;
  readonly groups: number;
  /** What just became of a request; undefined if only bytes were sent. */
  readonly change: RequestChange | undefined;
}

/** What an attempt changed. */
export interface RequestChange {
  readonly outcome: Outcome;
  /** True if the request is tried again. */
  readonly again: boolean;
  readonly groups: number;
  readonly bytes: number;
  /** The status of the answer, or the code of the transport error. */
  readonly reason: string;
  /** The failure of a run that ends with it; undefined for a success. */
  readonly failure: Failure | undefined;
}

/** How sending ended. */
export interface SendResult {
  readonly replies: Replies;
  /** Requests that were tried, and the bytes of their bodies. */
  readonly tried: number;
  readonly triedBytes: number;
  /** Requests that were tried, and those that were left. */
  readonly of: number;
  /** True if all that was to be sent was planned as one request, which was made smaller after a 413. */
  readonly isDivided: boolean;
  /** What keeps requests that are tried again from being sent. */
  readonly obstacle: Failure | undefined;
  /** Requests that were logged. */
  readonly accepted: number;
  readonly refused: readonly RefusedGroup[];
  /** The last request with an unknown outcome, how a later attempt ended, and if its key is known to be honored. */
  readonly unknown: (SentRequest & { readonly again: Failure | undefined; readonly isHonored: boolean }) | undefined;
  /** What stopped the run before its end. */
  readonly stop: Failure | undefined;
  /** What the service said against the request that stopped the run. */
  readonly problems: readonly Problem[];
}

/** The result of a run that was stopped before its first request. */
export const emptySendResult = (stop?: Failure): SendResult => ({
  replies: { entries: [], bytes: 0, firstCall: undefined, unreadableCounts: { cut: 0, notJson: 0 } },
  tried: 0,
  triedBytes: 0,
  of: 0,
  isDivided: false,
  obstacle: undefined,
  accepted: 0,
  refused: [],
  unknown: undefined,
  stop,
  problems: [],
});

/** Bytes of answers that are kept together (output.md). */
const maxKeptBytes = 64 * 1024;

/** One answer. Its body is undefined if all answers together are too large to print. */
export interface Reply {
  readonly status: number;
  readonly bytes: number;
  readonly body: Uint8Array | undefined;
}

/** The answers of a run: kept while they are small, otherwise counted. */
interface Replies {
  /** In the order they came. */
  entries: Reply[];
  /** Bytes of all bodies. */
  bytes: number;
  /** The first call that an answer names. */
  firstCall: string | undefined;
  /** Answers to logged requests that ended before they were complete, and those that are not JSON. */
  readonly unreadableCounts: { cut: number; notJson: number };
}

/** Adds an answer, and the list of calls that it names. */
export const addReply = (
  answers: Replies,
  { status, body, isCut: cut }: Extract<Attempt, { kind: "answered" }>,
  calls: string,
): void => {
  answers.bytes += body.length;
  answers.entries.push({ status, bytes: body.length, body });
  if (answers.bytes > maxKeptBytes) answers.entries = answers.entries.map((entry) => ({ ...entry, body: undefined }));
  if (status < 200 || status >= 300) return;
  if (calls !== emptyCallList) answers.firstCall ??= findFirstCall(calls);
  if (cut) answers.unreadableCounts.cut++;
  else if (calls === emptyCallList && body.length > 0 && findFault(body) !== undefined)
    answers.unreadableCounts.notJson++;
};

/** The list of no calls. */
export const emptyCallList = "[]";

/**
 * Returns the JSON list of the calls that an answer names. There may be hundreds of thousands, which are not looked at.
 * Assumed: `call_ids`, a list of strings, as in the local service.
 */
export const findCallList = (body: Uint8Array): string => {
  const list = memberAt(readRoot(body), "call_ids");
  if (list === undefined || firstByteOf(list) !== openBracket) return emptyCallList;
  for (const [, call] of childrenOf(list)) if (firstByteOf(call) !== quote) return emptyCallList;
  return sliceText(body, spanOf(list));
};

const findFirstCall = (calls: string): string | undefined => {
  const list = readRoot(Buffer.from(calls));
  const first = list && childrenOf(list).next().value?.[1];
  const id = first && parseValue(first);
  return typeof id === "string" ? id : undefined;
};
