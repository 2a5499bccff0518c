import type { MissingStep } from "../calls/path.ts";
import { Failure, type FailureDetails } from "../failure.ts";
import type { Verification } from "../logging/send/verify-ledger.ts";
import { adviseToResolve, formatLedgerCommand } from "../rollouts/rules/ledger-advice.ts";
import { describeSystemCode, formatList, formatRejected, formatSuggestion, pluralize } from "../text/sentences.ts";
import { formatCommandLine } from "../text/shell-words.ts";

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

export const resolutionMissing = (ids: readonly string[], ledgerArgs: readonly string[]) => {
  const hint = `${adviseToResolve(ledgerArgs, ids)}. Then run your \`rollcall log\` command again`;
  return new Failure("usage", "option-missing", "missing option: --assume-logged or --resend", { hint });
};

export const noSuchRequest = (
  ids: readonly string[],
  options: { states: ReadonlyMap<string, string>; allDestinations: boolean; ledgerArgs: readonly string[] },
) => {
  const { states, allDestinations, ledgerArgs } = options;
  const searched = allDestinations ? "" : " for the selected service and account";
  const reasons = ids.map((id) => {
    const state = states.get(id);
    return state ? `the outcome of ${id} is known (${state})` : `the ledger has no request ${id}${searched}`;
  });
  const message = `nothing was changed: ${reasons.join(", ")}`;
  const hint = ids.every((id) => states.has(id))
    ? "run your `rollcall log` command with --resend-logged to log the groups of a logged request again"
    : `list the ids and destinations of all requests with ${formatLedgerCommand("status --all-destinations", ledgerArgs)}`;
  return new Failure("not_found", "no-such-request", message, { hint });
};

export const ledgerFilterMissing = () => {
  const message = "no --model, --batch or --before was given, so nothing was deleted from the ledger";
  const hint = "pass --model <id>, --batch <name> or --before 30d";
  return new Failure("usage", "ledger-filter-missing", message, { hint });
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

export const callsUnreadable = (
  code: "auth" | "refused" | "unavailable",
  facts: {
    ids: readonly string[];
    cause: Failure;
    http: FailureDetails["http"];
    requested: number;
    hasStopped: boolean;
  },
) => {
  const { ids, cause, http, requested, hasStopped } = facts;
  const first = ids.length === 1 ? "" : `${ids[0]}: `;
  const [which, end] = hasStopped ? ["the first ", ", so rollcall stopped"] : ["", ""];
  const failed = `${ids.length} of ${which}${requested} calls`;
  const message = `cannot read ${failed}: ${formatList(ids)} (${first}${cause.message})${end}`;
  const hint =
    code === "refused" ? "examine one of these calls: `rollcall call read <call-id> --debug`" : cause.details.hint;
  return new Failure(code, `calls-${code}`, message, { hint, http, cause });
};

export const modelsMissing = (
  models: readonly { id: string; near: string | undefined }[],
  catalogs: readonly string[],
) => {
  const near = models.find((model) => model.near !== undefined)?.near;
  const where = `${catalogs.join(" and ")} ${catalogs.length === 1 ? "catalog" : "catalogs"}`;
  const message = `cannot find ${formatList(models.map(({ id }) => id))} in the ${where}`;
  const advice = formatSuggestion(near, "pass whole ids, or a glob such as 'qwen*'");
  return new Failure("not_found", "models-missing", message, advice);
};

type UnlistedModel = Readonly<{ id: string; names: readonly string[]; serviceArgs: readonly string[] }>;

export const modelNotListed = ({ id, names, serviceArgs }: UnlistedModel, near: string | undefined) => {
  const message = `unknown model ${id}: not in ${names.length > 1 ? "any" : `the ${names[0]}`} catalog`;
  const hint = `search with \`${`rollcall catalog all <pattern> ${formatCommandLine(serviceArgs)}`.trimEnd()}\``;
  return new Failure("not_found", "model-not-listed", message, formatSuggestion(near, hint));
};

export const usageMissing = () =>
  new Failure("usage", "usage-missing", "the cost needs a number of tokens, images or requests above 0", {
    hint: "pass --prompt-tokens 10k --completion-tokens 2k, or --from-call <id>",
  });

export const usageUnrecorded = (id: string, doubt: string | undefined) => {
  const why = doubt === undefined ? "" : `, because ${doubt}`;
  const message = `the call ${id} has no usage with prompt_tokens and completion_tokens${why}`;
  const hint = "pass --prompt-tokens and --completion-tokens instead";
  return new Failure("invalid_input", "usage-unrecorded", message, { hint });
};

export const catalogsDiffer = (changes: number, isWorse: boolean) => {
  const message = isWorse
    ? `${pluralize(changes, "change")} for the worse found`
    : `${pluralize(changes, "difference")} found`;
  const hint = "omit --exit-code to exit with 0 even if the catalogs differ";
  return new Failure("differs", "catalogs-differ", message, { hint });
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

export const callsUnconvertible = (facts: {
  calls: readonly { id: string; why: string; needsReward?: true }[];
  requested: number;
  into: "trajectory" | "messages";
}) => {
  const { calls, requested, into } = facts;
  const which = requested === 1 ? "the call" : `${calls.length} of ${requested} calls`;
  const reasons = formatList(calls.map(({ id, why }) => `${id} (${why})`));
  const message = `cannot convert ${which} to ${into === "trajectory" ? "a trajectory" : "messages"}: ${reasons}`;
  return new Failure("invalid_input", "calls-unconvertible", message, {
    hint: calls.some(({ needsReward }) => needsReward)
      ? "pass the reward with --reward <number>, or its path in the call with --reward-from <path>"
      : `examine ${requested === 1 ? "the call" : "one of these calls"}: \`rollcall call read <call-id>\``,
  });
};

export const callPathMissing = (missing: MissingStep, path: string, ids: readonly string[], requested: number) => {
  const [at, found] = ids.length > 1 ? [path, []] : [missing.path, missing.candidates];
  const has = ids.length === 1 ? "has" : "have";
  const reason = found.length === 0 ? "" : ` (found: ${formatList(found)})`;
  const message = `${formatCalls(ids, requested)} ${has} no value at \`${at}\`${formatIds(ids, requested)}${reason}`;
  const hint = "omit --path to see the whole call";
  return new Failure("not_found", "call-path-missing", message, formatSuggestion(missing.near, hint));
};

export const callIdsUnreadable = (code: string, cause: unknown) =>
  new Failure(
    "invalid_input",
    "call-ids-unreadable",
    `cannot read call ids from standard input: ${describeSystemCode(code)}`,
    {
      hint: "pass the ids as arguments, or run `rollcall call read - < ids.txt`",
      cause,
    },
  );
