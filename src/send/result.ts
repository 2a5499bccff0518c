/** The result of a run of `log` or `check`. */
import { formatLine } from "../check/rules/positions.ts";
import { createProblem } from "../check/rules/problems.ts";
import { requestRefused } from "../client/failures.ts";
import { type Failure, type FailureDetails, isFailure, type Problem } from "../failure.ts";
import { interrupted } from "../failures.ts";
import { countUnreadable, type Dataset, type FilteredOut, invalidInput, locateGroup } from "../groups/index.ts";
import { ledgerReplaced } from "../ledger/failures.ts";
import { logPartial, logRejected, logUnknown, logUnresolved } from "./failures.ts";
import { type GroupOutcomes, type OutcomeCounts, rejectInvalid, zeroCounts } from "./group-outcomes.ts";
import type { Reply, SendResult } from "./send-result.ts";

interface DatasetFacts {
  /** Lines that cannot be read; each counts as a group. */
  readonly unreadable: number;
  /** Empty if no group is valid. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly filteredOut?: FilteredOut | undefined;
}

export interface LogResult extends DatasetFacts {
  /** `not_sent`: the run ended before anything was sent. */
  readonly status: "logged" | "already_logged" | "planned" | "partial" | "not_sent" | "unknown";
  readonly modelId: string;
  /** Undefined if the run stopped before the split was known. */
  readonly split: string | undefined;
  readonly batch: string | null;
  /** Attempted requests and the bytes of their bodies; in a dry run, planned ones. */
  readonly requests: number;
  readonly bytes: number;
  /** The requests of a dry run. */
  readonly planned: readonly DryRunRequest[];
  readonly groups: OutcomeCounts;
  readonly trajectories: OutcomeCounts;
  /** In the order of arrival. */
  readonly answers: readonly Reply[];
  /** The id of the first call in any reply. */
  readonly firstCall: string | undefined;
  readonly rejectsFile: string | null;
  readonly ledger: { readonly path: string; readonly created: boolean } | null;
  readonly warnings: readonly Problem[];
  /** The error of a request that was being retried when the run ended. */
  readonly obstacle: Failure | undefined;
  /** Undefined if everything is logged, or was planned. */
  readonly failure: Failure | undefined;
}

interface DryRunRequest {
  readonly groups: number;
  readonly bytes: number;
  /** The `Idempotency-Key`; null if it has none, or another key in every run. */
  readonly key: string | null;
}

export interface CheckResult extends DatasetFacts {
  readonly status: "valid" | "invalid";
  readonly split: string | undefined;
  readonly groups: { readonly read: number; readonly rejected: number };
  readonly trajectories: { readonly read: number; readonly rejected: number };
  readonly problems: readonly Problem[];
  /** Problems that were counted but not stored. */
  readonly omittedProblemCount: number;
  readonly failure: Failure | undefined;
}

export const checkResult = (dataset: Dataset): CheckResult => {
  const { problems, split } = dataset;
  const { groups, trajectories } = rejectInvalid(dataset).countByOutcome(dataset.groups);
  const failure = problems.errors > 0 ? invalidInput(problems, listInputNames(dataset)) : undefined;
  const stored = problems.sorted(listInputNames(dataset));
  return {
    status: failure === undefined ? "valid" : "invalid",
    split,
    groups: { read: groups.read, rejected: groups.rejected },
    trajectories: { read: trajectories.read, rejected: trajectories.rejected },
    problems: stored,
    omittedProblemCount: problems.counts.reduce((sum, { count }) => sum + count, 0) - stored.length,
    failure,
    ...toDatasetFacts(dataset, split),
  };
};

const toDatasetFacts = (dataset: Dataset, split: string | undefined): DatasetFacts => ({
  unreadable: countUnreadable(dataset),
  filteredOut: dataset.filteredOut,
  metrics: dataset.found.tally.groups === 0 ? {} : dataset.found.tally.metrics(split),
});

interface LogResultParts extends Pick<LogResult, "modelId" | "ledger"> {
  /** The requests of a dry run. */
  readonly planned?: readonly DryRunRequest[] | undefined;
  /** Undefined if nothing was sent. */
  readonly sent: SendResult | undefined;
  readonly outcomes: GroupOutcomes;
  readonly rejectsFile?: string | undefined;
  /** True if no rejected group could be read. */
  readonly rejectsEmpty?: boolean;
  /** Inputs that another file replaced during the run. */
  readonly replaced?: readonly string[];
  /** The failure to write the rejects file. */
  readonly rejectsFailure?: Failure | undefined;
  readonly split: string;
  readonly batch: string | undefined;
  readonly resendLogged?: boolean;
}

export const logResult = (dataset: Dataset, run: LogResultParts): LogResult => {
  const { planned, sent, modelId, split, batch, ledger } = run;
  const { groups, trajectories } = run.outcomes.countByOutcome(dataset.groups);
  const failure = planned === undefined ? findFailure(dataset, { ...run, groups }) : undefined;
  return {
    ...emptyResult({ modelId, split, batch, failure }),
    status: planned === undefined ? toStatus(groups, failure, sent) : "planned",
    requests: planned?.length ?? sent?.tried ?? 0,
    bytes: planned?.reduce((sum, { bytes }) => sum + bytes, 0) ?? sent?.triedBytes ?? 0,
    groups,
    trajectories,
    answers: sent?.replies.entries ?? [],
    firstCall: sent?.replies.firstCall,
    rejectsFile: run.rejectsFile ?? null,
    ledger,
    planned: planned ?? [],
    obstacle: sent?.obstacle,
    warnings: listWarnings(dataset, run),
    ...toDatasetFacts(dataset, split),
  };
};

/** Returns the result of a run that sent nothing. */
export const emptyResult = ({
  batch = null,
  ...known
}: Pick<LogResult, "modelId" | "split" | "failure"> & { readonly batch: string | undefined | null }): LogResult => ({
  ...known,
  status: "not_sent",
  batch,
  requests: 0,
  bytes: 0,
  groups: zeroCounts(),
  trajectories: zeroCounts(),
  unreadable: 0,
  metrics: {},
  answers: [],
  firstCall: undefined,
  rejectsFile: null,
  ledger: null,
  planned: [],
  obstacle: undefined,
  warnings: [],
});

export const listInputNames = ({ sources }: Dataset): readonly string[] => sources.map(({ name }) => name);

const toStatus = (
  groups: OutcomeCounts,
  failure: Failure | undefined,
  sent: LogResultParts["sent"],
): LogResult["status"] => {
  if (groups.unknown > 0) return "unknown";
  if (failure !== undefined) return isUnsent(groups, sent) ? "not_sent" : "partial";
  return groups.logged === 0 && groups.already_logged > 0 ? "already_logged" : "logged";
};

/** True if the service has no group of the input, and refused none. */
const isUnsent = ({ logged, already_logged, unknown }: OutcomeCounts, sent: LogResultParts["sent"]): boolean =>
  logged + already_logged + unknown === 0 && (sent?.refused.length ?? 0) === 0;

/** Returns the failure of a run: unknown overrides a signal, a signal overrides partial, partial overrides the rest. */
const findFailure = (
  dataset: Dataset,
  run: LogResultParts & { readonly groups: OutcomeCounts },
): Failure | undefined => {
  const { sent, groups, rejectsFailure, rejectsFile = "", rejectsEmpty = false } = run;
  const { stop = rejectsFailure, problems = [], unknown, of: requests = 0, refused = [], tried = 0 } = sent ?? {};
  const { logged, not_sent: notSent, rejected } = groups;
  const hasLedger = run.ledger !== null;
  const facts = { logged, notSent, unknown: groups.unknown, requests, ledger: hasLedger };
  const about = stop === undefined ? {} : toStopDetails(stop, problems);
  if (unknown !== undefined) {
    const canResolve = hasLedger && unknown.isHonored && run.resendLogged !== true;
    const { request, number, unknownFailure, retryFailure } = unknown;
    const [from = "", to = ""] = [0, -1].map((at) => formatLine(locateGroup(dataset, request.groups.at(at) ?? 0)));
    const positions = from === to ? from : `${from} to ${to}`;
    const isLast = groups.unknown > request.groups.length;
    const retryable = canResolve || (hasLedger && notSent > 0);
    const data = { ...facts, positions, request: number, isLast, canResolve, unknownFailure, retryFailure };
    return logUnknown(data, { ...about, retryable });
  }
  if (isFailure(stop, "ledger-replaced")) return ledgerReplaced(stop.details.subject ?? "", { logged, notSent });
  if (groups.unknown > 0) return logUnresolved(facts, about);
  if (isFailure(stop, "interrupted")) {
    const details = { retryable: hasLedger || logged === 0, unsent: isUnsent(groups, sent) };
    const { signal = "SIGTERM" } = stop.details;
    return interrupted({ signal }, { ...toObstacleDetails(sent?.obstacle), ...details });
  }
  if (stop === undefined) {
    if (rejected === 0) return undefined;
    const unreadable = countUnreadable(dataset);
    const isConverted = dataset.conversion !== undefined;
    const data = { ...facts, rejected, unreadable, file: rejectsFile, isEmpty: rejectsEmpty, isConverted };
    return logRejected(data, { retryable: false, stoppedBy: refused.length > 0 ? "refused" : "invalid_input" });
  }
  if (logged + groups.already_logged + rejected > 0) {
    // Without a ledger, a rerun would log everything again.
    return logPartial(facts, { ...about, retryable: hasLedger && stop.retryable });
  }
  const unsent = tried === 0 && stop.code === "storage" ? { unsent: true } : {};
  if (problems.length === 0) return stop.withDetails(unsent);
  const { status } = stop.details.http ?? {};
  // The message of this failure names the problems.
  return stop.kind === "request-refused" && status !== undefined
    ? requestRefused(status, { ...stop.details, problems })
    : stop.withDetails({ problems, ...unsent });
};

const toObstacleDetails = (obstacle: Failure | undefined): FailureDetails => {
  if (obstacle === undefined) return {};
  const { http, where } = obstacle.details;
  return { http, where, stoppedBy: obstacle.code, cause: obstacle };
};

const toStopDetails = (stop: Failure, problems: readonly Problem[]): FailureDetails => {
  const all = problems.length > 0 ? problems : (stop.details.problems ?? []);
  return { ...toObstacleDetails(stop), ...(all.length === 0 ? {} : { problems: all }), retryable: stop.retryable };
};

/** Returns the warnings of reading and of sending. `--strict` cannot make the latter errors. */
const listWarnings = (dataset: Dataset, { sent, replaced = [] }: LogResultParts): readonly Problem[] => {
  const { problems } = dataset;
  const warnings = problems.sorted(listInputNames(dataset)).filter(({ severity }) => severity === "warning");
  const isShown = (rule: string): boolean => !problems.strictness.allowed.has(rule);
  if (sent?.isDivided === true && sent.loggedRequests > 1 && isShown("split-requests")) {
    warnings.push(createProblem("split-requests", { requests: sent.loggedRequests, tooLarge: true }));
  }
  const { cut, notJson } = sent?.replies.unreadableCounts ?? { cut: 0, notJson: 0 };
  for (let at = 0; at < cut + notJson; at++) warnings.push(createProblem("unreadable-response", { cut: at < cut }));
  if (isShown("input-replaced")) {
    for (const file of replaced) warnings.push(createProblem("input-replaced", undefined, { file }));
  }
  return warnings;
};
