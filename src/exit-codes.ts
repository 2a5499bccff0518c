/** The exit-code table: the number that each code of a failure ends the process with. */
import { type Failure, type FailureCode, isFailure } from "./failure.ts";

/** The exit-code table (promises.md, "Exit codes"). */
export const exitCodes = {
  internal: 1,
  usage: 2,
  invalid_input: 3,
  auth: 4,
  unavailable: 5,
  refused: 6,
  partial: 7,
  unknown_outcome: 8,
  not_found: 9,
  differs: 10,
  storage: 11,
  interrupted: { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 },
} as const satisfies Record<FailureCode, number | Readonly<Record<"SIGHUP" | "SIGINT" | "SIGTERM", number>>>;

/** The exit code of a run that ended with a failure. */
export const exitCodeOf = (failure: Failure): number => {
  if (isFailure(failure, "interrupted")) return exitCodes.interrupted[failure.data.signal];
  const code = exitCodes[failure.code];
  return typeof code === "number" ? code : exitCodes.internal;
};
