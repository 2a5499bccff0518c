/** Failures of reading calls, and why a call can't become something else. */
import { Failure } from "../failure.ts";

export type ConversionObstacle =
  | "running"
  | "deleted"
  | "failed"
  | "no-messages"
  | "no-answer"
  | "odd-answer"
  | "several-choices"
  | "odd-tools"
  | "no-reward"
  | "odd-reward";

export const callIdsMissing = (): Failure =>
  new Failure("invalid_input", "call-ids-missing", "standard input held no call id", {
    hint: "give one id a line, or the ids as arguments",
  });

/** @param why what the line is instead */
export const invalidCallId = ({ line, why }: { line: number; why: string }): Failure =>
  new Failure("invalid_input", "invalid-call-id", `line ${line} of standard input is no call id: it is ${why}`, {
    hint: "give one id a line, as plain text, as the first of tab-separated fields, or as the id of a JSON object",
  });
