/** Lists the error codes and exit codes. */
import { exitCodes, type FailureCode } from "../../../src/failure.ts";

const meanings: Readonly<Record<FailureCode | "success", string>> = {
  success: "Everything is done, or nothing was left to do.",
  internal: "A defect of rollcall. The hint says how to report it.",
  usage: "Wrong arguments, a missing or invalid setting, or a question that you did not confirm. Nothing was sent.",
  invalid_input: "Invalid input. Nothing was sent.",
  auth: "A credential is missing, or the service refused it (401, 403).",
  unavailable: "The network or the service is unavailable, or an answer was cut off. Rerunning the command is safe.",
  refused: "The service refused the request, or its answer does not match its interface, such as HTML.",
  partial: "Some or all groups were not logged or converted, because they were rejected or not sent.",
  unknown_outcome: "A request may or may not have been logged. The hint of the error says how to resolve it.",
  not_found: "The service answered 404 with JSON, or a named call, model, catalog, request or key does not exist.",
  differs: "`ledger verify` found a difference, or `compare --exit-code` found a lower reward.",
  storage: "rollcall cannot use a file or folder, such as a locked ledger or a full disk, or cannot write its output.",
  interrupted: "A signal (SIGHUP, SIGINT or SIGTERM) ended the run. Run the same command again to continue.",
};

const isCode = (name: string): name is FailureCode => Object.hasOwn(exitCodes, name);

export const codeTopics = Object.entries(meanings).map(([name, about]) => {
  const code = isCode(name) ? name : null;
  const exit = code === null ? 0 : exitCodes[code];
  return { about, code, exits: typeof exit === "number" ? [exit] : Object.values(exit) };
});
