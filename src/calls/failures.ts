/** Failures for ids of calls that cannot be read. */
import { Failure } from "../failure.ts";

export const callIdsMissing = (): Failure =>
  new Failure("invalid_input", "call-ids-missing", "no call ids on standard input", {
    hint: "give one id per line, or the ids as arguments",
  });

/** @param why completes the sentence "it is …" */
export const invalidCallId = ({ line, why }: { line: number; why: string }): Failure =>
  new Failure("invalid_input", "invalid-call-id", `line ${line} of standard input is not a call id: it is ${why}`, {
    hint: "give one id per line: plain, as the first tab-separated field, or as the id of a JSON object",
  });
