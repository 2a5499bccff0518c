/** Failures that several modules make. */
import { Failure, type FailureDetails } from "./failure.ts";
import { didYouMean, resendAloneHint } from "./sentences.ts";

/** @param hasAbortedRequests true if the local service aborted requests that it was answering */
export const interrupted = (
  {
    signal,
    hasAbortedRequests = false,
  }: { signal: NonNullable<FailureDetails["signal"]>; hasAbortedRequests?: boolean },
  details: FailureDetails = {},
) => {
  const { retryable = true, unsent, remedy } = details;
  const end = hasAbortedRequests ? ": the service aborted requests that took longer than 10 s" : "";
  const rerun = `${remedy === undefined ? "" : `${remedy}, then `}rerun the same command${unsent === undefined ? "" : " to send the remaining groups"}`;
  return new Failure("interrupted", "interrupted", `interrupted by ${signal}${end}`, {
    hint: hasAbortedRequests
      ? "resend aborted requests only with an Idempotency-Key, because their outcome is unknown"
      : retryable
        ? rerun
        : resendAloneHint("remaining"),
    signal,
    ...details,
  });
};

export const invalidArguments = (text: string, hint: string) =>
  new Failure("usage", "invalid-arguments", text, { hint });

export const subcommandMissing = (command: string, verbs: readonly string[], help: FailureDetails["help"]) => {
  const wanted = verbs.length === 1 ? verbs[0] : `one of ${verbs.join(", ")}`;
  const hint = `${command} ${verbs[0]}`;
  return new Failure("usage", "subcommand-missing", `${command} needs ${wanted}`, { hint, help });
};

export const wrongValue = (option: string, value: string, wanted: string, suggestion?: string) =>
  new Failure(
    "usage",
    "invalid-option-value",
    `invalid ${option} "${value}": expected ${wanted}`,
    didYouMean(suggestion),
  );

export const contradiction = (first: string, second: string, why: string, hint?: string) =>
  new Failure("usage", "conflicting-options", `cannot combine ${first} and ${second}: ${why}`, { hint });

export const requiredOptionMissing = (option: string, needs: string) =>
  new Failure("usage", "required-option-missing", `${option} requires ${needs}`);
