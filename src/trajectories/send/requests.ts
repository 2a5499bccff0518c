/** What is to be sent, and what sending ended as. */
import type { Failure, Problem } from "../../failure.ts";
import type { Ticket } from "../ledger/record.ts";
import { Answers } from "./answers.ts";
import type { PlannedRequest } from "./plan.ts";
import type { RefusedGroup } from "./too-large.ts";

/** A request to be sent; `ticket` where it was tried before, and is sent as exactly what it was. */
export interface Job {
  readonly request: PlannedRequest;
  readonly ticket?: Ticket;
}

/** What a run of requests ended as. */
export interface Sending {
  readonly answers: Answers;
  /** Requests that were tried. */
  readonly tried: number;
  /** Requests that were logged. */
  readonly accepted: number;
  /** Whether requests were made smaller, after a 413. */
  readonly halved: boolean;
  readonly refused: readonly RefusedGroup[];
  /** The last request whose outcome is unknown. */
  readonly unknown: PlannedRequest | undefined;
  /** What stopped the run before its end, as it was: undefined where everything was tried. */
  readonly stop: Failure | undefined;
  /** What the service said against the request that stopped the run. */
  readonly problems: readonly Problem[];
}

/** What a run ended as that was stopped before its first request. */
export const nothingSent = (stop?: Failure): Sending => ({
  answers: new Answers(),
  tried: 0,
  accepted: 0,
  halved: false,
  refused: [],
  unknown: undefined,
  stop,
  problems: [],
});
