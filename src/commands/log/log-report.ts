/** Defines a run of `log`, and prints its progress and its result. */

import { Failure, isFailure, toProblemDocument } from "../../failure.ts";
import { tryParseRawJson } from "../../json/raw-json.ts";
import type { FollowPolicy } from "../../logging/send/follow/followed-files.ts";
import type { LogResult } from "../../logging/send/log-result.ts";
import { groupOutcomes, outcomeFacts } from "../../logging/send/outcome.ts";
import type { LogPolicy, SendProgress } from "../../logging/send/policy.ts";
import { composeDocument, type DescribedDocument, formatUnreadable, printFacts, toFacts } from "../../output/list.ts";
import type { Meter } from "../../output/progress.ts";
import type { Screen } from "../../output/screen.ts";
import { formatRetry, listServiceArgs } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { Settings } from "../../settings/read.ts";
import { pluralize, toFileArg, toOptionArgs } from "../../text/sentences.ts";
import { formatOwnCommand } from "../../text/shell-words.ts";
import type { LogOptions } from "./command.ts";

export interface LogRun {
  context: Context;
  settings: Settings;
  typed: LogOptions;
  policy: Omit<LogPolicy, "split">;
  follow: Pick<FollowPolicy, "file" | "everyMs" | "groupSize" | "groupIdleMs"> | undefined;
  meter: Meter;
}

export interface PlanTarget {
  method: string;
  url: string;
  headers: readonly string[];
  hasKeys: boolean;
}

type ReportedResult = LogResult & Readonly<{ run: LogRun; target: PlanTarget | undefined }>;

const document: DescribedDocument<ReportedResult> = {
  status: ({ status }) => status,
  model_id: ({ run }) => run.policy.modelId,
  split: ({ split }) => split,
  batch: ({ run }) => run.policy.batch ?? null,
  requests: ({ requests }) => requests,
  bytes: ({ bytes }) => bytes,
  groups: ({ groups }) => groups,
  trajectories: ({ trajectories }) => trajectories,
  metrics: ({ metrics }) => metrics,
  metrics_of: (result) => findMetricsScope(result),
  responses: ({ sent }) => sent.replies.map(toResponse),
  rejects_file: ({ rejectsFile = null }) => rejectsFile,
  /** Null with --no-ledger. */
  ledger: ({ ledger }) => ledger,
  warnings: ({ warnings }) => warnings.map(toProblemDocument),
  notes: ({ run }) => run.context.screen.notices,
  /** The records that cannot be read, each of which counts as a rejected group. */
  unreadable_lines: ({ unreadable }) => unreadable || undefined,
  /** The requests of a dry run. */
  plan: (result) => (result.status === "planned" ? toPlan(result) : undefined),
};

export const documentKeys = Object.keys(document);

export const printResult = async (run: LogRun, result: LogResult, target: PlanTarget | undefined) => {
  const scope = findMetricsScope(result);
  await printFacts(run.context.screen, {
    document: composeDocument(document, { ...result, run, target }),
    facts: [...toResultFacts(run, result), ...toPlannedFacts(result, target)],
    metrics: result.metrics,
    metricsScope: scope && formatMetricsScope(scope),
    next: toNextCommandFacts(run, result),
  });
};

/** Returns the valid and the logged groups, if not all valid groups are logged. */
const findMetricsScope = ({ status, groups, validGroups }: LogResult) => {
  const logged = groups.logged + groups.already_logged;
  return status !== "planned" && logged < validGroups ? { groups: validGroups, logged } : undefined;
};

const formatMetricsScope = ({ groups, logged }: NonNullable<ReturnType<typeof findMetricsScope>>) =>
  groups === 1
    ? "the one valid group of the input (logged or not)"
    : `the ${groups} valid groups of the input (${logged} of them are known to be logged)`;

/** For the local service, `url` is null, because the port differs in every run. */
const toPlan = ({ planned, target }: ReportedResult) => ({
  method: "POST",
  url: target?.url.startsWith("http") ? target.url : null,
  headers: Object.fromEntries((target?.headers ?? []).map((line) => line.split(/: (.*)/s, 2))),
  requests: planned.map(({ groups, bytes, key }) => ({ groups, bytes, idempotency_key: key })),
});

/** Keeps the spelling of the service's JSON. */
const toResponse = ({ status, body, bytes }: LogResult["sent"]["replies"][number]) => {
  if (!body) return { status, body: null, body_bytes: bytes };
  const text = Buffer.from(body).toString("utf8");
  return { status, body: text === "" ? null : (tryParseRawJson(text) ?? text) };
};

const toResultFacts = ({ settings, policy }: LogRun, result: LogResult) => {
  const { modelId, batch } = policy;
  const { status, split, groups, trajectories, requests, bytes, rejectsFile } = result;
  // The cause of an interrupted run is the failure of the last attempt.
  const cause = result.failure?.details.cause;
  const unsent = `nothing was sent${cause instanceof Failure ? `: ${cause.message}` : ""}`;
  return toFacts({
    status: status === "not_sent" ? unsent : status,
    model: modelId,
    split,
    batch,
    log_base_url: settings.source("log_base_url") === "default" ? undefined : settings.get("log_base_url"),
    groups: `${formatCounts(groups, status)}${formatUnreadable(result.unreadable)}`,
    trajectories: formatCounts(trajectories, status),
    requests,
    bytes,
    rejects: rejectsFile,
  });
};

const formatCounts = ({ read, ...counts }: LogResult["groups"], status: LogResult["status"]) => {
  const found = groupOutcomes.flatMap((outcome) =>
    counts[outcome] > 0 ? ([[outcome, counts[outcome]]] as const) : [],
  );
  const isAll = counts.logged === read || (status === "planned" && counts.not_sent === read);
  if (found.length === 0 || (found.length === 1 && isAll)) return String(read);
  const text = found.map(([outcome, count]) => `${count} ${outcomeFacts[outcome].groupText}`).join(", ");
  return found.length === 1 ? text : `${read}: ${text}`;
};

const maxPlanned = 20;

const toPlannedFacts = ({ planned }: LogResult, target: PlanTarget | undefined) => {
  if (planned.length === 0) return [];
  const to = target ? `${target.method} ${target.url}` : "no URL is set";
  const knownKeys = planned.length === 1 ? planned[0]?.key : "one per request (see --json)";
  const keys = planned.some(({ key }) => key === null) ? "differs in every run" : knownKeys;
  const headers = [...(target?.headers ?? []), ...(target?.hasKeys ? [`Idempotency-Key: ${keys}`] : [])];
  const requests = planned.slice(0, maxPlanned).map(({ groups, bytes }, at) => {
    return { name: `request ${at + 1}`, value: `${to}, ${bytes} bytes, ${pluralize(groups, "group")}` };
  });
  const hidden = planned.length - requests.length;
  const more = toFacts({ more: hidden > 0 ? pluralize(hidden, "request") : undefined });
  return [...requests, ...more, ...headers.map((value) => ({ name: "header", value }))];
};

const toNextCommandFacts = ({ context: { flags }, settings }: LogRun, { sent: { firstCall } }: LogResult) => {
  if (firstCall === undefined || settings.get("project") === undefined) return [];
  const options = [...toOptionArgs({ project: flags.project }), ...listServiceArgs(flags)];
  return toFacts({ next: formatOwnCommand(["call", "read", firstCall, ...options]) });
};

/** Returns the failure of the run, with the command that continues its work. */
export const toRunFailure = ({ context, typed, policy }: LogRun, result: LogResult) => {
  const { failure, split, rejectsFile, ledger } = result;
  const { modelId, batch } = policy;
  const next = (...words: readonly string[]) => failure?.withDetails({ next: formatOwnCommand(words) });
  const rerun = () => failure?.withDetails({ next: formatOwnCommand(context.host.argv) });
  const canRerun = ledger !== null && !(typed.resendLogged && result.groups.logged > 0);
  if (isFailure(failure, "records-rejected")) return canRerun ? rerun() : failure;
  if (isFailure(failure, "log-rejected") && rejectsFile !== undefined) {
    const { groupBy, from, strict } = typed;
    const allow = [...typed.allow, ...(result.areRejectsMixed ? ["mixed-shapes"] : [])];
    // The dedup keys, the contents and the validity of groups depend on these options.
    const options = toOptionArgs({ split, batch, groupBy, from, strict, allow });
    const named = [modelId, toFileArg(rejectsFile)];
    // After `--`, a model id can begin with `-`.
    if (modelId.startsWith("-")) return next("log", ...options, ...policy.ledgerArgs, "--", ...named);
    return next("log", ...named, ...options, ...policy.ledgerArgs);
  }
  if (failure?.code === "unknown_outcome" && !isFailure(failure, "log-resolvable"))
    return ledger === null ? failure : next("ledger", "status", ...policy.ledgerArgs);
  return failure?.retryable === true ? rerun() : failure;
};

export const noteRetry = (screen: Screen, { failure, ...retry }: NonNullable<SendProgress["retry"]>) => {
  if (!failure) return;
  screen.notice(`${failure.message}, ${formatRetry(retry)}`);
  if (retry.attempt === 2 && failure.details.remedy !== undefined) screen.notice(failure.details.remedy);
};

export const followNotices = {
  waiting: (file: string) => `waiting for ${file} to exist`,
  moved: (file: string) => `${file} was replaced, so rollcall reads the old file to its end, and then the new file`,
  rewritten: (file: string) =>
    `${file} was rewritten. rollcall sent all groups that it had read, and now reads the file from the start`,
};
