/** What a run of `log` or `check` came to: one value, which the screen prints. */

import { lineText } from "../check/rules/places.ts";
import { problemOf } from "../check/rules/problems.ts";
import { requestRefused } from "../client/failures.ts";
import { type About, type Failure, isFailure, type Problem } from "../failure.ts";
import { interrupted } from "../failures.ts";
import { invalidInput, type LeftOutBy, type Reading, spotOfGroup, unreadableIn } from "../groups/index.ts";
import { ledgerGone } from "../ledger/failures.ts";
import type { Answer } from "./answers.ts";
import type { LogFacts as LoggedSoFar } from "./failures.ts";
import { logPartial, logRejected, logUnknown, logUnsettled } from "./failures.ts";
import { type Counts, type GroupOutcomes, noCounts } from "./outcomes.ts";
import type { SendResult } from "./send-result.ts";

/** What a run of `log` came to. */
export interface LogResult {
  /** `not_sent`: the run ended before anything was sent. */
  readonly status: "logged" | "already_logged" | "planned" | "partial" | "not_sent" | "unknown";
  readonly modelId: string;
  /** Undefined if the run stopped before it was known. */
  readonly split: string | undefined;
  readonly batch: string | null;
  /** Requests that were tried, and the bytes of their bodies; those that were planned if nothing was to be sent. */
  readonly requests: number;
  readonly bytes: number;
  /** Each request that would be sent; none if something was to be sent. */
  readonly planned: readonly WouldBeSent[];
  readonly groups: Counts;
  readonly trajectories: Counts;
  /** Of the groups: lines that cannot be read, whose groups nobody knows. */
  readonly unreadable: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** The service's answers, in the order they came. */
  readonly answers: readonly Answer[];
  /** The first call that an answer named. */
  readonly firstCall: string | undefined;
  readonly rejectsFile: string | null;
  /** What a choice left out; undefined if there was none. */
  readonly leftOut?: LeftOutBy | undefined;
  readonly ledger: { readonly path: string; readonly created: boolean } | null;
  readonly warnings: readonly Problem[];
  /** What kept the last request from being sent, if the run ended while it was tried again. */
  readonly obstacle: Failure | undefined;
  /** What the run ends with; undefined if all is logged, or was planned. */
  readonly failure: Failure | undefined;
}

/** A request of a dry run. */
interface WouldBeSent {
  readonly groups: number;
  readonly bytes: number;
  /** Its `Idempotency-Key`; null if it has none, or another in every run. */
  readonly key: string | null;
}

/** What a run of `check` came to. */
export interface CheckResult {
  readonly status: "valid" | "invalid";
  readonly split: string | undefined;
  readonly groups: { readonly read: number; readonly rejected: number };
  readonly trajectories: { readonly read: number; readonly rejected: number };
  /** Of the groups: lines that cannot be read. */
  readonly unreadable: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly problems: readonly Problem[];
  /** Problems that were counted and not kept. */
  readonly problemsLeftOut: number;
  /** What a choice left out; undefined if there was none. */
  readonly leftOut: LeftOutBy | undefined;
  readonly failure: Failure | undefined;
}

/** Returns what reading alone came to. */
export const checkResult = (reading: Reading): CheckResult => {
  const { groups, problems, split } = reading;
  const read = { groups: groups.count, trajectories: 0 };
  const rejected = { groups: 0, trajectories: 0 };
  for (let group = 0; group < groups.count; group++) {
    const count = groups.trajectoriesOf(group);
    read.trajectories += count;
    if (groups.isValid(group)) continue;
    rejected.groups++;
    rejected.trajectories += count;
  }
  const failure = problems.errors > 0 ? invalidInput(problems, filesOf(reading)) : undefined;
  const kept = problems.sorted(filesOf(reading));
  return {
    status: failure === undefined ? "valid" : "invalid",
    split,
    groups: { read: read.groups, rejected: rejected.groups },
    trajectories: { read: read.trajectories, rejected: rejected.trajectories },
    problems: kept,
    problemsLeftOut: problems.counts.reduce((sum, { count }) => sum + count, 0) - kept.length,
    failure,
    ...factsOf(reading, split),
  };
};

/** What both results say of a reading. There are no metrics if no group is valid. */
const factsOf = (reading: Reading, split: string | undefined) => ({
  unreadable: reading.unreadable ?? unreadableIn(reading),
  leftOut: reading.leftOut,
  metrics: reading.found.tally.groups === 0 ? {} : reading.found.tally.metrics(split),
});

/** What a run's result is made of. */
interface LogFacts {
  /** What would be sent; undefined if it was sent. */
  readonly planned?: readonly WouldBeSent[] | undefined;
  /** Undefined if nothing was, or nothing was to be, sent. */
  readonly sent: SendResult | undefined;
  readonly outcomes: GroupOutcomes;
  readonly rejectsFile?: string | undefined;
  /** True if nothing of what was rejected could be read. */
  readonly rejectsEmpty?: boolean;
  /** Inputs that another file took the name of in the meantime. */
  readonly replaced?: readonly string[];
  /** What kept the rejects file from being written. */
  readonly unwritten?: Failure | undefined;
  readonly ledger: LogResult["ledger"];
  readonly modelId: string;
  readonly split: string;
  readonly batch: string | undefined;
  /** True if what was logged is sent again, with new keys. */
  readonly resendLogged?: boolean;
}

/** Returns what planning and sending came to. */
export const logResult = (reading: Reading, facts: LogFacts): LogResult => {
  const { planned, sent, outcomes, rejectsFile = null, ledger, modelId, split, batch = null } = facts;
  const { groups, trajectories } = outcomes.tally(reading.groups);
  const failure = planned === undefined ? endOf(reading, { ...facts, groups }) : undefined;
  return {
    status: planned === undefined ? statusOf(groups, failure, sent) : "planned",
    modelId,
    split,
    batch,
    requests: planned?.length ?? sent?.tried ?? 0,
    bytes: planned?.reduce((sum, request) => sum + request.bytes, 0) ?? sent?.triedBytes ?? 0,
    groups,
    trajectories,
    answers: sent?.answers.entries ?? [],
    firstCall: sent?.answers.firstCall,
    rejectsFile,
    ledger,
    planned: planned ?? [],
    obstacle: sent?.obstacle,
    warnings: warningsOf(reading, facts),
    failure,
    ...factsOf(reading, split),
  };
};

/** Returns what a run came to that a signal stopped while it was reading. */
export const unreadResult = ({
  batch = null,
  ...known
}: Pick<LogResult, "modelId" | "split" | "failure"> & { readonly batch: string | undefined | null }): LogResult => ({
  ...known,
  status: "not_sent",
  batch,
  requests: 0,
  bytes: 0,
  groups: noCounts(),
  trajectories: noCounts(),
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

/** Names of the inputs. */
export const filesOf = ({ sources }: Reading): readonly string[] => sources.map(({ name }) => name);

const statusOf = (
  groups: Counts,
  failure: Failure | undefined,
  sent: SendResult | undefined,
): Exclude<LogResult["status"], "planned"> => {
  if (groups.unknown > 0) return "unknown";
  if (failure !== undefined) return isUnsent(groups, sent) ? "not_sent" : "partial";
  return groups.logged === 0 && groups.already_logged > 0 ? "already_logged" : "logged";
};

/** True if the service has nothing of what was read, and refused nothing. */
const isUnsent = ({ logged, already_logged, unknown }: Counts, sent: SendResult | undefined): boolean =>
  logged + already_logged + unknown === 0 && (sent?.refused.length ?? 0) === 0;

/** A run whose end is described. */
interface Ended extends LogFacts {
  readonly groups: Counts;
  readonly facts: LoggedSoFar;
  readonly about: About;
}

/** What a run ends with: unknown comes before a signal, a signal before partial, partial before the rest. */
const endOf = (reading: Reading, run: LogFacts & Pick<Ended, "groups">): Failure | undefined => {
  const { sent, groups, unwritten } = run;
  const { stop = unwritten, problems = [], unknown, of: requests = 0 } = sent ?? {};
  const { logged, not_sent: notSent } = groups;
  const facts = { logged, notSent, unknown: groups.unknown, requests, ledger: run.ledger !== null };
  const about = stop === undefined ? {} : aboutStop(stop, problems);
  if (unknown !== undefined) return unknownEnd(reading, { ...run, facts, about, unknown });
  if (isFailure(stop, "ledger-gone")) {
    return ledgerGone(stop.about.detail ?? "", { logged, notSent });
  }
  if (groups.unknown > 0) return logUnsettled(facts, about);
  if (stop !== undefined && isFailure(stop, "interrupted")) {
    const again = { retryable: facts.ledger || logged === 0, unsent: isUnsent(groups, sent) };
    return interrupted({ signal: stop.about.signal ?? "SIGTERM" }, { ...aboutObstacle(sent?.obstacle), ...again });
  }
  if (stop === undefined) return groups.rejected === 0 ? undefined : rejectedEnd(reading, { ...run, facts, about });
  if (logged + groups.already_logged + groups.rejected > 0) {
    // Without a ledger the same command would log again what is logged.
    return logPartial(facts, { ...about, retryable: facts.ledger && stop.retryable });
  }
  const unsent = (sent?.tried ?? 0) === 0 && stop.code === "storage" ? { unsent: true } : {};
  if (problems.length === 0) return stop.also(unsent);
  const { status } = stop.about.http ?? {};
  // Its message names the problems.
  return stop.kind === "request-refused" && status !== undefined
    ? requestRefused(status, { ...stop.about, problems })
    : stop.also({ problems, ...unsent });
};

/** The end of a run with a request of unknown outcome. */
const unknownEnd = (
  reading: Reading,
  { groups, facts, about, unknown, resendLogged }: Ended & { readonly unknown: NonNullable<SendResult["unknown"]> },
): Failure => {
  const settles = facts.ledger && unknown.isHonored && resendLogged !== true;
  const { request, number, doubt, again } = unknown;
  const lineOf = (group = 0) => lineText(spotOfGroup(reading, group));
  const [from, to] = [lineOf(request.groups[0]), lineOf(request.groups.at(-1))];
  const isLast = groups.unknown > request.groups.length;
  return logUnknown(
    { ...facts, from, to, request: number, isLast, settles, doubt, again },
    { ...about, retryable: settles || (facts.ledger && groups.not_sent > 0) },
  );
};

/** The end of a run that sent all groups but the rejected ones. */
const rejectedEnd = (
  reading: Reading,
  { sent, groups: { rejected }, rejectsFile: file = "", rejectsEmpty: isEmpty = false, facts }: Ended,
): Failure => {
  const unreadable = reading.unreadable ?? unreadableIn(reading);
  const stoppedBy = (sent?.refused.length ?? 0) > 0 ? "refused" : "invalid_input";
  const data = { ...facts, rejected, unreadable, file, isEmpty, isConverted: reading.conversion !== undefined };
  return logRejected(data, { retryable: false, stoppedBy });
};

/** What was in the way of a run before a signal came. */
const aboutObstacle = (obstacle: Failure | undefined): About => {
  if (obstacle === undefined) return {};
  const { http, where } = obstacle.about;
  const known = { ...(http === undefined ? {} : { http }), ...(where === undefined ? {} : { where }) };
  return { ...known, stoppedBy: obstacle.code, cause: obstacle };
};

/** What a run's end says of something else that stopped it. */
const aboutStop = (stop: Failure, problems: readonly Problem[]): About => {
  const said = problems.length > 0 ? problems : (stop.about.problems ?? []);
  return { ...aboutObstacle(stop), ...(said.length === 0 ? {} : { problems: said }), retryable: stop.retryable };
};

/** The warnings of what was read, in its order, and those of sending, which `--strict` cannot make errors. */
const warningsOf = (reading: Reading, { sent, replaced = [] }: LogFacts): readonly Problem[] => {
  const { problems } = reading;
  const { allowed } = problems.judgement;
  const warnings = problems.sorted(filesOf(reading)).filter(({ severity }) => severity === "warning");
  if (sent !== undefined) {
    const { isDivided, accepted, answers } = sent;
    if (isDivided && accepted > 1 && !allowed.has("split-requests"))
      warnings.push(problemOf("split-requests", { requests: accepted, tooLarge: true }));
    const { cut, notJson } = answers.unreadable;
    for (let at = 0; at < cut + notJson; at++) warnings.push(problemOf("answer-unreadable", { cut: at < cut }));
  }
  if (!allowed.has("input-replaced")) {
    for (const file of replaced) warnings.push(problemOf("input-replaced", undefined, { file }));
  }
  return warnings;
};
