/** Describes the result of a run of `log`. */

import { type Failure, type FailureDetails, isFailure } from "../../failure.ts";
import { computeMetrics } from "../../rollouts/dataset/check-result.ts";
import { formatGroupPositions } from "../../rollouts/dataset/locate.ts";
import { countUnreadable } from "../../rollouts/dataset/read-dataset.ts";
import { invalidInput } from "../../rollouts/rules/failures.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import { interrupted } from "../../system/failures.ts";
import type { Delivery } from "./delivery.ts";
import { type LogCounts, logPartial, logRejected, logUnknown, logUnresolved } from "./failures.ts";
import { countByOutcome, type OutcomeCounts, type RunStatus } from "./outcome.ts";

interface RunEnd {
  /** The failure that ended the run. */
  stop?: Failure | undefined;
  /** `key` is null if the request has no key, or if each run makes a new key. */
  planned?: readonly Readonly<{ groups: number; bytes: number; key: string | null }>[];
  rejectsFailure?: Failure | undefined;
}

export type LogResult = Awaited<ReturnType<typeof composeLogResult>>;

export const composeLogResult = async (delivery: Delivery, { stop, planned, rejectsFailure }: RunEnd) => {
  const { dataset, sent, rejects } = delivery;
  const { split } = delivery.policy;
  const { groups, trajectories } = countByOutcome(delivery.outcomes, dataset.groups);
  const found = findFailure(delivery, groups, stop);
  const failure = withUnwrittenRejects(delivery, found, rejectsFailure ?? stop);
  return {
    status: planned ? "planned" : toStatus(groups, failure),
    split,
    groups,
    trajectories,
    sent,
    rejectsFile: rejects?.isWritten() ? rejects.path : undefined,
    /** True if the rejects file has groups and trajectories, because rollcall joined lines. */
    areRejectsMixed: rejects?.hasJoined() === true,
    failure,
    ledger: delivery.recorder.resultFacts,
    requests: planned?.length ?? sent.attempted,
    bytes: planned?.reduce((sum, { bytes }) => sum + bytes, 0) ?? sent.attemptedBytes,
    planned: planned ?? [],
    warnings: listWarnings(delivery),
    unreadable: countUnreadable(dataset),
    // A signal must not prevent the result.
    metrics: await computeMetrics(dataset, split),
    validGroups: dataset.scan.tally.groups,
  };
};

const toStatus = (groups: OutcomeCounts, failure: Failure | undefined): RunStatus => {
  if (groups.unknown > 0) return "unknown";
  if (failure) return isUnsent(groups) ? "not_sent" : "partial";
  return groups.logged === 0 && groups.already_logged > 0 ? "already_logged" : "logged";
};

const isUnsent = ({ logged, already_logged, unknown }: OutcomeCounts) => logged + already_logged + unknown === 0;

const withUnwrittenRejects = ({ dataset }: Delivery, failure?: Failure, cause?: Failure) => {
  if (!cause?.kind.startsWith("rejects-")) return failure;
  const invalid = dataset.scan.problems.sorted().filter(({ severity }) => severity === "error");
  return failure?.withDetails({ problems: [...(failure.details.problems ?? []), ...invalid] });
};

const findFailure = (delivery: Delivery, groups: OutcomeCounts, stop: Failure | undefined) => {
  const { dataset, policy, sent, recorder, outcomes } = delivery;
  const { resendLogged, ledgerArgs } = policy;
  const isUnresolved = sent.unknown?.groups.some((group) => outcomes.outcomeOf(group) === "unknown");
  const unknown = isUnresolved ? sent.unknown : undefined;
  const { logged, already_logged, not_sent, rejected } = groups;
  const hasLedger = recorder.resultFacts !== null;
  const requests = sent.attempted + delivery.queue.length;
  // Otherwise, a rerun would log groups again.
  const canRerun = hasLedger && !recorder.replaced && !(resendLogged && logged > 0);
  const facts = { ...groups, requests, hasLedger, resendLogged, canRerun, ledgerArgs };
  const problems = stop?.details.problems ?? [];
  const stopDetails = {
    ...toCauseDetails(stop),
    ...(problems.length > 0 && { problems }),
    ...(stop && { retryable: stop.retryable }),
  };
  if (unknown) {
    const { groups: unknownGroups, recorded, retryFailure } = unknown;
    const canRepeat = canRerun && !resendLogged && retryFailure?.code !== "refused";
    const canResolve = canRepeat && recorder.willHonorKey(recorded);
    const positions = formatGroupPositions(dataset, unknownGroups);
    const areMoreUnknown = groups.unknown > unknownGroups.length;
    const request = { ...unknown, id: recorded.id, recordFailure: sent.recordFailure ?? recorder.replaced };
    const data = { ...request, ...facts, positions, areMoreUnknown, canResolve };
    const details = { ...stopDetails, retryable: canResolve || (canRerun && not_sent > 0) };
    return logUnknown(data, details);
  }
  if (groups.unknown > 0 && !policy.dryRun) return logUnresolved(facts, stopDetails);
  if (isFailure(stop, "interrupted")) {
    const { signal = "SIGTERM" } = stop.details;
    const details = { retryable: canRerun || logged === 0, unsent: isUnsent(groups) };
    return interrupted({ ...toCauseDetails(sent.obstacle), ...details, signal });
  }
  if (!stop) return rejected === 0 ? undefined : groupsRejected(delivery, facts);
  if (logged + already_logged + rejected > 0)
    return logPartial(facts, stop, { ...stopDetails, retryable: canRerun && stop.retryable });
  return sent.attempted === 0 && stop.code === "storage" ? stop.withDetails({ unsent: true }) : stop;
};

const groupsRejected = ({ dataset, rejects, policy }: Delivery, facts: LogCounts) => {
  if (facts.rejected === facts.read) return invalidInput(dataset.scan.problems);
  if (policy.dryRun) {
    const invalid = invalidInput(dataset.scan.problems);
    return logPartial(facts, invalid, { ...invalid.details, stoppedBy: invalid.code });
  }
  const unreadable = countUnreadable(dataset);
  const isEmpty = rejects?.countLines() === 0;
  const file = rejects?.path ?? "";
  const data = { ...facts, unreadable, file, isEmpty, isConverted: dataset.conversion !== undefined };
  return logRejected(data, { retryable: false, stoppedBy: "invalid_input" });
};

const toCauseDetails = (cause: Failure | undefined): FailureDetails => {
  if (!cause) return {};
  const { http, where, remedy, stack } = cause.details;
  return { http, where, remedy, stack, stoppedBy: cause.code, cause };
};

/** With `--strict`, warnings that this function creates stay warnings. */
const listWarnings = ({ dataset, sent, plannedCount, cutLimit }: Delivery) => {
  const { problems } = dataset.scan;
  const requests = sent.replies.filter(({ isLogged }) => isLogged).length;
  const isDivided = plannedCount === 1 && cutLimit !== Number.POSITIVE_INFINITY && requests > 1;
  return [
    ...problems.sorted().filter(({ severity }) => severity === "warning"),
    ...(isDivided ? [createProblem("split-requests", { requests, tooLarge: true })] : []),
    ...sent.doubtfulReplies.map((reply) => createProblem("error-in-response", reply)),
  ].filter(({ rule }) => !problems.strictness.allowed.has(rule));
};
