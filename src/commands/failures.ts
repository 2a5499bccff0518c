import type { MissingStep } from "../calls/path.ts";
import { Failure, type FailureDetails } from "../failure.ts";
import type { Verification } from "../logging/send/verify-ledger.ts";
import { adviseToResolve } from "../rollouts/rules/ledger-advice.ts";
import { formatList, formatRejected, formatSuggestion, pluralize } from "../text/sentences.ts";

export const convertRejected = (
  { written, file, ...counts }: Record<"written" | "rejected" | "unreadable", number> & { file: string },
  details: FailureDetails,
) => {
  const message = `${formatRejected(counts)} (see ${file}), ${pluralize(written, "group")} written`;
  const hint = `fix the problems listed in ${file}.reasons and convert the input again`;
  return new Failure("partial", "convert-rejected", message, { ...details, hint });
};

export const secondRunMissing = () =>
  new Failure("usage", "argument-missing", "missing argument: <b>", {
    hint: "name the run that is compared with <a>, or select two parts of one run with --where-a and --where-b",
  });

export const stdoutIsTerminal = (what: string, hint: string) =>
  new Failure("usage", "conflicting-options", `${what} to a terminal`, { hint });

export const ledgerDiffers = (verification: Verification, ledgerArgs: readonly string[]) => {
  const { problems } = verification;
  const { read, logged, repeated, unknown, refused, not_sent } = verification.counts;
  const counts = { "not logged": not_sent + refused, unknown, "logged more than once": repeated };
  const parts = Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
  const message = `${logged} of ${pluralize(read, "group")} logged exactly once, ${parts.join(", ")}`;
  return new Failure("differs", "ledger-differs", message, {
    problems,
    hint: selectLedgerHint(verification, ledgerArgs),
  });
};

const selectLedgerHint = (
  { counts: { not_sent, refused, repeated }, isInvalid }: Verification,
  ledgerArgs: readonly string[],
) => {
  if (not_sent > 0 && isInvalid)
    return "fix the errors that `rollcall check` reports, log the file, and verify the file with the same options";
  if (not_sent > 0)
    return "verify with --model <model-id> and the options of your `rollcall log` command (--local, --profile, --ledger, --split, --batch, --group-by, --where), or run that command again to send the missing groups";
  if (refused > 0)
    return "run your `rollcall log` command again to see why the service refused a group, and fix that group";
  if (repeated > 0)
    return "if the group was logged to several destinations, models, splits or batches, verify one of them with --base-url, --model, --split or --batch";
  return `${adviseToResolve(ledgerArgs)}. Then run your \`rollcall log\` command again`;
};

export const ledgerLocationMissing = () => {
  const message = "cannot locate the ledger because the home folder is unknown";
  const hint = "pass --ledger <file>, or set ROLLCALL_DATA_DIR";
  return new Failure("storage", "ledger-location-missing", message, { hint });
};

const formatCalls = (ids: readonly string[], requested: number) =>
  requested === 1 ? `call \`${ids[0]}\`` : `${ids.length} of ${requested} calls`;

const formatIds = (ids: readonly string[], requested: number) => (requested === 1 ? "" : `: ${formatList(ids)}`);

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

export const runIsWorse = (difference: string) =>
  new Failure("differs", "run-is-worse", `the mean reward of b is lower (${difference})`, {
    hint: "omit --exit-code to exit with 0 even if b is worse",
  });

export const pairsMissing = (pairs: number, pairBy: string | undefined) => {
  const hint =
    pairBy === undefined
      ? "compare runs of the same prompts, or pair them by a key with --pair-by"
      : "pass a key to --pair-by whose values both inputs have";
  const message = `${pluralize(pairs, "pair")} with rewards, and a comparison needs two`;
  return new Failure("invalid_input", "pairs-missing", message, { hint });
};

export const callPathMissing = (missing: MissingStep, path: string, ids: readonly string[], requested: number) => {
  const [at, found] = ids.length > 1 ? [path, []] : [missing.path, missing.candidates];
  const has = ids.length === 1 ? "has" : "have";
  const reason = found.length === 0 ? "" : ` (found: ${formatList(found)})`;
  const message = `${formatCalls(ids, requested)} ${has} no value at \`${at}\`${formatIds(ids, requested)}${reason}`;
  const hint = "omit --path to see the whole call";
  return new Failure("not_found", "call-path-missing", message, formatSuggestion(missing.near, hint));
};
