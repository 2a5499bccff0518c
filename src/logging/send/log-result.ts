/** Describes the result of a run of `log`. */

import { type Failure, type FailureDetails, isFailure } from "../../failure.ts";
import { toDatasetFacts } from "../../rollouts/dataset/check-result.ts";
import { locateGroup } from "../../rollouts/dataset/locate.ts";
import { countUnreadable, type Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { toFileLine } from "../../rollouts/rules/positions.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import { interrupted } from "../../system/failures.ts";
import { ledgerReplaced } from "../ledger/failures.ts";
import type { RunLedger } from "../ledger/recorded-requests.ts";
import { countByOutcome, type OutcomeCounts, zeroCounts } from "./group-outcomes.ts";
import { logPartial, logRejected, logUnknown, logUnrecorded, logUnresolved } from "./log-failures.ts";
import type { RunStatus } from "./outcome.ts";
import type { SendOptions } from "./send-options.ts";
import { emptySendResult, type SendResult } from "./send-result.ts";

interface LogResultParts
  extends Pick<SendOptions, "modelId" | "batch" | "outcomes" | "resendLogged" | "onUnknown" | "ledgerArgs" | "ledger"> {
  split: string | undefined;
  sent: SendResult;
  /** `key` is null if the request has no key, or if each run makes a new key. */
  planned?: readonly Readonly<{ groups: number; bytes: number; key: string | null }>[];
  rejectsFile?: string | undefined;
  rejectsFailure?: Failure | undefined;
  areRejectsEmpty?: boolean;
  replaced?: readonly string[];
  runLedger?: Pick<RunLedger, "resultFacts"> | undefined;
}

export type LogResult = ReturnType<typeof composeLogResult>;

export const composeLogResult = (dataset: Dataset, run: LogResultParts) => {
  const { planned, sent, modelId, split, batch, rejectsFile } = run;
  const { groups, trajectories } = countByOutcome(run.outcomes, dataset.groups);
  const failure = planned ? undefined : withUnwrittenRejects(dataset, { ...run, groups });
  return {
    status: planned ? "planned" : toStatus(groups, failure, sent),
    modelId,
    split,
    batch,
    groups,
    trajectories,
    sent,
    rejectsFile,
    failure,
    ledger: run.runLedger?.resultFacts ?? toUnopenedFacts(run.ledger),
    requests: planned?.length ?? sent.attempted,
    bytes: planned?.reduce((sum, { bytes }) => sum + bytes, 0) ?? sent.attemptedBytes,
    planned: planned ?? [],
    warnings: listWarnings(dataset, run),
    ...toDatasetFacts(dataset, split),
  };
};

const toUnopenedFacts = (location: { path: string } | undefined) =>
  location ? { path: location.path, created: false } : null;

export const emptyResult = ({
  ledger,
  ...known
}: Pick<LogResult, "modelId" | "split" | "batch" | "failure"> & Pick<SendOptions, "ledger">): LogResult => ({
  ...known,
  ledger: toUnopenedFacts(ledger),
  status: "not_sent",
  requests: 0,
  bytes: 0,
  planned: [],
  sent: emptySendResult(),
  groups: zeroCounts(),
  trajectories: zeroCounts(),
  rejectsFile: undefined,
  warnings: [],
  unreadable: 0,
  filteredOut: undefined,
  metrics: {},
});

const toStatus = (groups: OutcomeCounts, failure: Failure | undefined, sent: SendResult): RunStatus => {
  if (groups.unknown > 0) return "unknown";
  if (failure) return isUnsent(groups, sent) ? "not_sent" : "partial";
  return groups.logged === 0 && groups.already_logged > 0 ? "already_logged" : "logged";
};

const isUnsent = ({ logged, already_logged, unknown }: OutcomeCounts, { refused }: SendResult) =>
  logged + already_logged + unknown === 0 && refused.length === 0;

const withUnwrittenRejects = (dataset: Dataset, run: LogResultParts & { groups: OutcomeCounts }) => {
  const { sent, rejectsFailure: cause = sent.stop } = run;
  const failure = findFailure(dataset, run);
  if (!cause?.kind.startsWith("rejects-")) return failure;
  const invalid = dataset.problems.sorted().filter(({ severity }) => severity === "error");
  const refused = sent.refused.flatMap(({ problems }) => problems);
  const problems = [...(failure?.details.problems ?? []), ...invalid, ...refused];
  return failure?.withDetails({ problems });
};

const findFailure = (dataset: Dataset, run: LogResultParts & { groups: OutcomeCounts }) => {
  const { sent, groups, ledgerArgs, resendLogged, rejectsFile: file = "", areRejectsEmpty: isEmpty = false } = run;
  const { unknown, stop } = sent;
  const { logged, already_logged: alreadyLogged, not_sent: notSent, rejected } = groups;
  const hasLedger = Boolean(run.runLedger?.resultFacts);
  const counts = { ...groups, alreadyLogged, notSent };
  const facts = { ...counts, requests: sent.attemptedOrQueued, hasLedger, resendLogged, ledgerArgs };
  const problems = stop?.details.problems ?? [];
  const stopDetails = {
    ...toCauseDetails(stop),
    ...(problems.length > 0 && { problems }),
    ...(stop && { retryable: stop.retryable }),
  };
  if (isFailure(stop, "ledger-replaced")) return ledgerReplaced(stop.details.subject ?? "", counts);
  if (unknown) {
    const { request } = unknown;
    const canResolve = hasLedger && unknown.isKeyHonored && !resendLogged;
    const [from = "", to = ""] = [0, -1].map((at) => toFileLine(locateGroup(dataset, request.groups.at(at) ?? 0)));
    const positions = from === to ? from : `${from} to ${to}`;
    const areMoreUnknown = groups.unknown > request.groups.length;
    const data = { ...sent, ...unknown, ...facts, positions, areMoreUnknown, canResolve };
    const details = { ...stopDetails, retryable: canResolve || (hasLedger && notSent > 0) };
    return (sent.unrecorded.length > 0 ? logUnrecorded : logUnknown)(data, details);
  }
  if (groups.unknown > 0) return logUnresolved(facts, stopDetails);
  if (isFailure(stop, "interrupted")) {
    const { signal = "SIGTERM" } = stop.details;
    const details = { retryable: hasLedger || logged === 0, unsent: isUnsent(groups, sent) };
    return interrupted({ ...toCauseDetails(sent.obstacle), ...details, signal });
  }
  if (!stop) {
    if (rejected === 0) return undefined;
    const unreadable = countUnreadable(dataset);
    const data = { ...facts, unreadable, file, isEmpty, isConverted: dataset.conversion !== undefined };
    return logRejected(data, { retryable: false, stoppedBy: sent.refused.length > 0 ? "refused" : "invalid_input" });
  }
  // Without a ledger, a rerun would log all groups again.
  if (logged + alreadyLogged + rejected > 0)
    return logPartial(facts, stop, { ...stopDetails, retryable: hasLedger && stop.retryable });
  return sent.attempted === 0 && stop.code === "storage" ? stop.withDetails({ unsent: true }) : stop;
};

const toCauseDetails = (cause: Failure | undefined): FailureDetails => {
  if (!cause) return {};
  const { http, where, remedy, stack } = cause.details;
  return { http, where, remedy, stack, stoppedBy: cause.code, cause };
};

/** With `--strict`, warnings that this function creates stay warnings. */
const listWarnings = (dataset: Dataset, { sent, replaced = [] }: LogResultParts) => {
  const { problems } = dataset;
  const { dividedInto } = sent;
  return [
    ...problems.sorted().filter(({ severity }) => severity === "warning"),
    ...(dividedInto > 1 ? [createProblem("split-requests", { requests: dividedInto, tooLarge: true })] : []),
    ...sent.doubtfulReplies.map(({ said, ...reply }) =>
      said === undefined
        ? createProblem("unreadable-response", reply)
        : createProblem("error-in-response", { ...reply, said }),
    ),
    ...replaced.map((file) => createProblem("input-replaced", undefined, { file })),
  ].filter(({ rule }) => !problems.strictness.allowed.has(rule));
};
