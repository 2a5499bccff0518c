/** How far sending is, and how it ended. */
import type { Failure, Problem } from "../failure.ts";
import { type Answers, noAnswers } from "./answers.ts";
import type { RefusedGroup } from "./refusal.ts";
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
  readonly change:
    | {
        readonly outcome: Outcome;
        /** Whether it is tried again. */
        readonly again: boolean;
        readonly groups: number;
        readonly bytes: number;
        /** The status of the answer, or the code of the transport error. */
        readonly reason: string;
        /** The failure of a run that ends with it; undefined for a success. */
        readonly failure: Failure | undefined;
      }
    | undefined;
}

/** How sending ended. */
export interface SendResult {
  readonly answers: Answers;
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
  /**
   * The last request with an unknown outcome, how a later attempt of it ended, and whether the same command settles it,
   * because the service is known to honor its key.
   */
  readonly unknown: (SentRequest & { readonly again: Failure | undefined; readonly isHonored: boolean }) | undefined;
  /** What stopped the run before its end. */
  readonly stop: Failure | undefined;
  /** What the service said against the request that stopped the run. */
  readonly problems: readonly Problem[];
}

/** The result of a run that was stopped before its first request. */
export const nothingSent = (stop?: Failure): SendResult => ({
  answers: noAnswers(),
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
