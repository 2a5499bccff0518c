/** Says which commands show and resolve requests of a ledger. */
import { formatCommandLine } from "../../text/shell-words.ts";

export const formatLedgerCommand = (command: string, args: readonly string[]) =>
  `\`${`rollcall ledger ${command} ${formatCommandLine(args)}`.trimEnd()}\``;

/**
 * @param args options for the ledger and the service
 * @param ids the requests, if they are known
 */
export const adviseToResolve = (args: readonly string[], ids: readonly string[] = []) => {
  const list = `list the requests with ${formatLedgerCommand("status", args)}. For each request with an unknown outcome, `;
  const [before, words] = ids.length === 0 ? [list, "<id>"] : ["", formatCommandLine(ids)];
  const has = "with --assume-logged if the service has the groups of the request, or with --resend if it does not";
  return `${before}run ${formatLedgerCommand(`resolve ${words}`, args)} ${has}`;
};
