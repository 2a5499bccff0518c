/** When a run ends with which code. */
import type { FailureCode } from "../../failure.ts";

/** When a run ends with a code (promises.md, "Exit codes"). */
export const whenOf: Readonly<Record<FailureCode, string>> = {
  internal: "A defect of rollcall.",
  usage: "Wrong arguments, or a setting that is missing or can't be used.",
  invalid_input: "Bad input. Nothing was sent.",
  auth: "No credential, or the service refused it.",
  unavailable: "The network or the service is down for now. Running the same command again is safe.",
  refused: "The service refused the request, or answered with something else than its interface says.",
  partial: "Some of it was logged; the rest was refused, rejected or not sent.",
  unknown_outcome: "A request may or may not have been logged.",
  not_found: "There is no such call, model or catalog entry.",
  differs: "What was compared differs.",
  storage: "A file or folder of rollcall's own can't be used.",
  interrupted: "SIGHUP, SIGINT or SIGTERM. Running the same command again goes on.",
};
