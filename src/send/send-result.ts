/** The progress and the result of sending, and the call ids in replies. */
import type { Retry } from "../client/index.ts";
import type { Failure } from "../failure.ts";
import { childrenOf, firstByteOf, memberAt, readRoot, spanOf } from "../json/table.ts";
import { getValue, openBracket, parseJson, quote, sliceText } from "../json/walk.ts";
import type { RejectedGroup } from "./rejects.ts";
import type { Outcome, SentRequest } from "./request.ts";

export interface SendProgress {
  /** Requests that ended with any outcome. */
  readonly requests: number;
  readonly of: number;
  /** Bytes that are logged or on their way. */
  readonly bytes: number;
  readonly ofBytes: number;
  readonly groups: number;
  readonly change: RequestChange | undefined;
}

export interface RequestChange {
  readonly outcome: Outcome;
  readonly retry: Retry | undefined;
  readonly groups: number;
  readonly bytes: number;
  /** The status of the answer, or the code of the transport error. */
  readonly reason: string;
  readonly failure: Failure | undefined;
}

export interface SendResult {
  readonly replies: Reply[];
  /** Replies to logged requests: true for an incomplete reply, false for a reply that is not JSON. */
  readonly unreadableReplies: boolean[];
  readonly firstCall: string | undefined;
  readonly attempted: number;
  readonly attemptedBytes: number;
  readonly attemptedOrQueued: number;
  /** Logged requests if a 413 divided the only planned request, otherwise 0. */
  readonly dividedInto: number;
  /** The error of a request that was being retried when the run ended. */
  readonly obstacle: Failure | undefined;
  readonly refused: RejectedGroup[];

  readonly recordFailure: Failure | undefined;
  readonly unknown: (SentRequest & { readonly isKeyHonored: boolean }) | undefined;
  readonly stop: Failure | undefined;
}

export const emptySendResult = (stop?: Failure): { -readonly [Key in keyof SendResult]: SendResult[Key] } => ({
  ...{ replies: [], unreadableReplies: [], refused: [] },
  ...{ attempted: 0, attemptedBytes: 0, attemptedOrQueued: 0, dividedInto: 0 },
  ...{ firstCall: undefined, obstacle: undefined, unknown: undefined, recordFailure: undefined, stop },
});

/** For all bodies together (output.md). */
export const maxPrintedBytes = 64 * 1024;

export interface Reply {
  readonly status: number;
  readonly bytes: number;
  /** Undefined if all bodies together exceed `maxPrintedBytes`. */
  body: Uint8Array | undefined;
}

export const emptyCallList = "[]";

/** Without the quotes of JSON. */
const maxCallIdBytes = 200;

/** Returns `call_ids` (assumed) of a reply as JSON; `[]` if they are missing, invalid, too many or too long. */
export const findCallList = (body: Uint8Array, maxCalls: number, redact: (json: string) => string): string => {
  const list = memberAt(readRoot(body), "call_ids");
  if (list === undefined || firstByteOf(list) !== openBracket) return emptyCallList;
  let left = maxCalls;
  for (const [, call] of childrenOf(list)) {
    const { start, end } = spanOf(call);
    if (--left < 0 || firstByteOf(call) !== quote || end - start - 2 > maxCallIdBytes) return emptyCallList;
  }
  return redact(sliceText(body, spanOf(list)));
};

export const findFirstCall = (calls: string): string | undefined => {
  const first = getValue(parseJson(calls)?.value, [0]);
  return typeof first === "string" ? first : undefined;
};
