import type { MissingStep } from "../calls/path.ts";
import { Failure, type FailureDetails } from "../failure.ts";
import { formatList, formatSuggestion } from "../text/sentences.ts";

export const stdoutIsTerminal = (what: string, hint: string) =>
  new Failure("usage", "conflicting-options", `${what} to a terminal`, { hint });

export const ledgerLocationMissing = () => {
  const message = "cannot locate the ledger because the home folder is unknown";
  const hint = "pass --ledger <file>, or set ROLLCALL_DATA_DIR";
  return new Failure("storage", "ledger-location-missing", message, { hint });
};

const formatCalls = (ids: readonly string[], requested: number) =>
  requested === 1 ? `call \`${ids[0]}\`` : `${ids.length} of ${requested} calls`;

const formatIds = (ids: readonly string[], requested: number) =>
  requested === 1 ? "" : `: ${formatList([...new Set(ids)])}`;

export const callsMissing = (
  { ids, requested, project }: { ids: readonly string[]; requested: number; project: string },
  details: FailureDetails = {},
) => {
  const reason = details.http?.said === undefined ? "" : ` (the service says: ${details.http.said})`;
  const found = formatCalls(ids, requested);
  const message = `cannot find ${found} in project ${project}${formatIds(ids, requested)}${reason}`;
  const hint = "pass the whole id, check the service, and pass the project of the call with --project";
  return new Failure("not_found", "calls-missing", message, { ...details, hint });
};

export const callPathMissing = (missing: MissingStep, path: string, ids: readonly string[], requested: number) => {
  const [at, found] = ids.length > 1 ? [path, []] : [missing.path, missing.candidates];
  const has = ids.length === 1 ? "has" : "have";
  const reason = found.length === 0 ? "" : ` (found: ${formatList(found)})`;
  const message = `${formatCalls(ids, requested)} ${has} no value at \`${at}\`${formatIds(ids, requested)}${reason}`;
  const hint = "omit --path to see the whole call";
  return new Failure("not_found", "call-path-missing", message, formatSuggestion(missing.near, hint));
};
