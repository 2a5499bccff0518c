import { Failure, type FailureDetails } from "../failure.ts";
import { formatSuggestion, resendAloneHint } from "../text/sentences.ts";

export const interrupted = (
  details: FailureDetails & { signal: NonNullable<FailureDetails["signal"]> },
  effect = "",
) => {
  const { signal, retryable = true, unsent, remedy } = details;
  const first = remedy ? `${remedy}, then ` : "";
  const rerun = `${first}rerun the same command${unsent === undefined ? "" : " to send the remaining groups"}`;
  const hint = retryable ? rerun : resendAloneHint("remaining");
  return new Failure("interrupted", "interrupted", `interrupted by ${signal}${effect}`, { hint, ...details });
};

export const invalidArguments = (text: string, hint: string) =>
  new Failure("usage", "invalid-arguments", text, { hint });

export const subcommandMissing = (command: string, verbs: readonly string[], help: FailureDetails["help"]) => {
  const wanted = verbs.length === 1 ? verbs[0] : `one of ${verbs.join(", ")}`;
  // `rollcall log` alone would fail, too.
  const hint = command === "rollcall" ? "rollcall --help" : `${command} ${verbs[0]}`;
  return new Failure("usage", "subcommand-missing", `${command} needs ${wanted}`, { hint, help });
};

export const invalidOptionValue = (option: string, value: string, wanted: string, suggestion?: string) => {
  const message = `invalid ${option} "${value}": expected ${wanted}`;
  return new Failure("usage", "invalid-option-value", message, formatSuggestion(suggestion));
};

export const conflictingOptions = (first: string, second: string, why: string) =>
  new Failure("usage", "conflicting-options", `cannot combine ${first} and ${second}: ${why}`);

export const requiredOptionMissing = (option: string, needs: string) =>
  new Failure("usage", "required-option-missing", `${option} requires ${needs}`);

export const rejectsPathMissing = () =>
  new Failure("usage", "rejects-path-missing", "standard input has no default rejects file", {
    hint: "pass --rejects <file>",
  });
