/** Failures that several modules make. */
import { Failure, type FailureDetails } from "./failure.ts";
import { didYouMean } from "./sentences.ts";

/** @param broken whether the local service broke requests off that it was answering */
export const interrupted = (
  { signal, broken = false }: { signal: NonNullable<FailureDetails["signal"]>; broken?: boolean },
  about: FailureDetails = {},
): Failure => {
  const { retryable = true, unsent } = about;
  const end = broken ? ": requests that took longer than 10 s from then on were broken off" : "";
  return new Failure("interrupted", "interrupted", `interrupted by ${signal}${end}`, {
    // Only of what sends anything is it said whether something was sent.
    hint: broken
      ? "whoever sent them does not know what became of them: with an Idempotency-Key they may be sent again"
      : retryable
        ? `the same command again is safe${unsent === undefined ? "" : ": it sends what is not logged yet"}`
        : "without a ledger the same command logs again what is logged: send the other groups alone",
    signal,
    ...about,
  });
};

export const invalidArguments = (wrong: { text: string; suggestion: string | undefined; command: string }): Failure =>
  new Failure("usage", "invalid-arguments", wrong.text, {
    hint: wrong.suggestion?.replace(/^\((.*)\)$/, "$1") ?? `\`${wrong.command} --help\` lists what there is`,
  });

/** @param help the help of the command, which is printed in place of the message */
export const subcommandMissing = (missing: { command: string; verbs: readonly string[]; help: string }): Failure => {
  const { command, verbs, help } = missing;
  const message = verbs.length === 1 ? `${command} needs ${verbs[0]}` : `${command} needs one of ${verbs.join(", ")}`;
  return new Failure("usage", "subcommand-missing", message, { hint: `${command} ${verbs[0] ?? "--help"}`, help });
};

export const invalidOptionValue = (
  wrong: { option: string; value: string; wanted: string; suggestion?: string | undefined },
  about: FailureDetails = {},
): Failure => {
  const message = `${wrong.option} can't be "${wrong.value}": it takes ${wrong.wanted}`;
  return new Failure("usage", "invalid-option-value", message, { ...didYouMean(wrong.suggestion), ...about });
};

/** @param way another way to what was wanted */
export const conflictingOptions = (wrong: { first: string; second: string; why: string; way?: string }): Failure => {
  const message = `${wrong.first} and ${wrong.second} can't go together: ${wrong.why}`;
  return new Failure("usage", "conflicting-options", message, { hint: wrong.way });
};

export const requiredOptionMissing = (option: string, needs: string): Failure =>
  new Failure("usage", "required-option-missing", `${option} means nothing without ${needs}`);
