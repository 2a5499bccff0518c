/** What a run of `log` or `check` came to: one value, which the screen prints. */

import { lineText } from "../check/rules/places.ts";
import { problemOf } from "../check/rules/problems.ts";
import { type About, Failure, isFailure, type Problem, type ReasonData } from "../failure.ts";
import { invalidInput, type LeftOutBy, type Reading, spotOfGroup, unreadableIn } from "../groups/index.ts";
import type { Answer, Answers } from "./answers.ts";
import type { Counts, GroupOutcomes } from "./group-outcomes.ts";
import type { PlannedRequest } from "./plan.ts";
import type { SendResult } from "./requests.ts";

/** What a run of `log` came to. */
export interface LogResult {
  /** `not_sent`: the run ended before anything was. */
  readonly status: "logged" | "already_logged" | "planned" | "partial" | "not_sent" | "unknown";
  readonly modelId: string;
  /** Undefined where the run stopped before it was known. */
  readonly split: string | undefined;
  readonly batch: string | null;
  /** Requests that were tried, and the bytes of their bodies; those that were planned where nothing was to be sent. */
  readonly requests: number;
  readonly bytes: number;
  /** Each request that would be sent; none where something was to be. */
  readonly planned: readonly WouldBeSent[];
  readonly groups: Counts;
  readonly trajectories: Counts;
  /** Of the groups: those that are lines which can't be read, which groups they have nobody knows. */
  readonly unreadable: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** The service's answers, in the order they came. */
  readonly answers: readonly Answer[];
  /** The first call that an answer named. */
  readonly firstCall: string | undefined;
  readonly rejectsFile: string | null;
  /** What a choice left out; undefined where there was none. */
  readonly leftOut?: LeftOutBy | undefined;
  readonly ledger: { readonly path: string; readonly created: boolean } | null;
  readonly warnings: readonly Problem[];
  /** What kept the last request from being sent, where the run ended while it was tried again. */
  readonly obstacle: Failure | undefined;
  /** What the run ends with; undefined where all is logged, or was planned. */
  readonly failure: Failure | undefined;
}

/** A request of a dry run. */
export interface WouldBeSent {
  readonly groups: number;
  readonly bytes: number;
  /** Its `Idempotency-Key`; null where it has none, or another in every run. */
  readonly key: string | null;
}

/** What a run of `check` came to. */
export interface CheckResult {
  readonly status: "valid" | "invalid";
  readonly split: string | undefined;
  readonly groups: { readonly read: number; readonly rejected: number };
  readonly trajectories: { readonly read: number; readonly rejected: number };
  /** Of the groups: those that are lines which can't be read. */
  readonly unreadable: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly problems: readonly Problem[];
  /** Problems that were counted and not kept. */
  readonly problemsLeftOut: number;
  /** What a choice left out; undefined where there was none. */
  readonly leftOut: LeftOutBy | undefined;
  readonly failure: Failure | undefined;
}

/** What reading alone came to. */
export const checkResult = (reading: Reading): CheckResult => {
  const { groups, problems, split, found } = reading;
  const trajectories = { read: 0, rejected: 0 };
  let rejected = 0;
  for (let group = 0; group < groups.count; group++) {
    const count = groups.trajectoriesOf(group);
    trajectories.read += count;
    if (groups.isValid(group)) continue;
    rejected++;
    trajectories.rejected += count;
  }
  const failure = problems.errors > 0 ? invalidInput(problems, filesOf(reading)) : undefined;
  const kept = problems.sorted(filesOf(reading));
  return {
    status: failure === undefined ? "valid" : "invalid",
    split,
    groups: { read: groups.count, rejected },
    trajectories,
    unreadable: reading.unreadable ?? unreadableIn(reading),
    metrics: metricsOf(found.tally, split),
    problems: kept,
    leftOut: reading.leftOut,
    problemsLeftOut: problems.counts.reduce((sum, { count }) => sum + count, 0) - kept.length,
    failure,
  };
};

/** The metrics; none where no group is valid. */
const metricsOf = (tally: Reading["found"]["tally"], split: string | undefined): Record<string, number> =>
  tally.groups === 0 ? {} : tally.metrics(split);

/** What a run's result is made of. */
interface LogFacts {
  /** What would be sent; undefined where it was. */
  readonly planned?: readonly WouldBeSent[] | undefined;
  /** Undefined where nothing was, or nothing was meant to be, sent. */
  readonly sent: SendResult | undefined;
  readonly outcomes: GroupOutcomes;
  readonly rejectsFile?: string | undefined;
  /** Whether nothing of what was rejected could be read. */
  readonly rejectsEmpty?: boolean;
  /** Inputs whose place another file took meanwhile, by their names. */
  readonly replaced?: readonly string[];
  /** What kept the rejects file from being written. */
  readonly unwritten?: Failure | undefined;
  readonly ledger: LogResult["ledger"];
  readonly modelId: string;
  readonly split: string;
  readonly batch: string | undefined;
  /** Whether what was logged is sent once more, under new keys. */
  readonly resendLogged?: boolean;
}

/** What planning and sending came to. */
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
    unreadable: reading.unreadable ?? unreadableIn(reading),
    metrics: metricsOf(reading.found.tally, split),
    answers: sent?.answers.entries ?? [],
    firstCall: sent?.answers.firstCall,
    rejectsFile,
    leftOut: reading.leftOut,
    ledger,
    planned: planned ?? [],
    obstacle: sent?.obstacle,
    warnings: [
      ...warningsOf(reading),
      ...(sent === undefined ? [] : [...splitWarnings(reading, sent), ...answerWarnings(sent.answers)]),
      ...replacedWarnings(reading, facts),
    ],
    failure,
  };
};

/** What a run came to that a signal stopped while it was reading. */
export const unreadResult = ({
  modelId,
  split,
  batch = null,
  failure,
}: {
  readonly modelId: string;
  readonly split: string | undefined;
  readonly batch: string | undefined | null;
  readonly failure: Failure;
}): LogResult => {
  const none = { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };
  return {
    status: "not_sent",
    modelId,
    split,
    batch,
    requests: 0,
    bytes: 0,
    groups: none,
    trajectories: none,
    unreadable: 0,
    metrics: {},
    answers: [],
    firstCall: undefined,
    rejectsFile: null,
    ledger: null,
    planned: [],
    obstacle: undefined,
    warnings: [],
    failure,
  };
};

/** The warnings of what was read, in the order of the input. */
const warningsOf = (reading: Reading): readonly Problem[] =>
  reading.problems.sorted(filesOf(reading)).filter(({ severity }) => severity === "warning");

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

/** Whether nothing of what was read is with the service, or was refused by it. */
const isUnsent = ({ logged, already_logged, unknown }: Counts, sent: SendResult | undefined): boolean =>
  logged + already_logged + unknown === 0 && (sent?.refused.length ?? 0) === 0;

/** What a run ends with: unknown goes before a signal, a signal before partial, partial before the rest. */
const endOf = (reading: Reading, run: LogFacts & { readonly groups: Counts }): Failure | undefined => {
  const { sent, groups, unwritten, ledger } = run;
  const { stop = unwritten, problems = [], unknown, of: requests = 0 } = sent ?? {};
  const { logged, not_sent: notSent } = groups;
  const facts = { logged, notSent, unknown: groups.unknown, requests, ledger: ledger !== null };
  const about = stop === undefined ? {} : aboutStop(stop, problems);
  if (unknown !== undefined) return unknownEnd(reading, unknown, { ...run, facts, about });
  if (isFailure(stop, "ledger-gone")) {
    return new Failure("ledger-gone", { ...stop.data, sent: { logged, notSent } }, { retryable: false });
  }
  if (groups.unknown > 0) return new Failure("log-unsettled", facts, about);
  if (stop !== undefined && isFailure(stop, "interrupted")) {
    const again = { retryable: facts.ledger || logged === 0 };
    return stop.also({ ...obstacleAbout(sent?.obstacle), ...again, unsent: isUnsent(groups, sent) });
  }
  if (stop !== undefined) return stoppedEnd(stop, { ...run, facts, about });
  return groups.rejected === 0 ? undefined : rejectedEnd(reading, { ...run, facts });
};

/** A run whose end is told, and what is told of each. */
interface Ended extends LogFacts {
  readonly groups: Counts;
  readonly facts: ReasonData<"log-partial">;
}

/** The end of a run of which nobody knows whether a request was logged. */
const unknownEnd = (
  reading: Reading,
  unknown: NonNullable<SendResult["unknown"]>,
  { groups, facts, about, resendLogged = false }: Ended & { readonly about: About },
): Failure => {
  const settles = facts.ledger && unknown.honoured && !resendLogged;
  return new Failure(
    "log-unknown",
    {
      ...facts,
      ...spanOf(reading, unknown.request),
      request: unknown.number,
      isLast: groups.unknown > unknown.request.groups.length,
      settles,
      doubt: unknown.doubt,
      again: unknown.again,
    },
    { ...about, retryable: settles || (facts.ledger && groups.not_sent > 0) },
  );
};

/** The end of a run that something stopped. */
const stoppedEnd = (stop: Failure, { sent, groups, facts, about }: Ended & { readonly about: About }): Failure => {
  const { problems = [], tried = 0 } = sent ?? {};
  if (groups.logged + groups.already_logged + groups.rejected > 0) {
    // Without a ledger the same command would log again what is logged.
    return new Failure("log-partial", facts, { ...about, retryable: facts.ledger && stop.retryable });
  }
  const unsent = tried === 0 && stop.code === "storage" ? { unsent: true } : {};
  return problems.length === 0 ? stop.also(unsent) : stop.also({ problems, ...unsent });
};

/** The end of a run that sent all but what was rejected. */
const rejectedEnd = (
  reading: Reading,
  { sent, groups: { rejected }, rejectsFile, rejectsEmpty = false, facts }: Ended,
): Failure =>
  new Failure(
    "log-rejected",
    {
      ...facts,
      rejected,
      unreadable: reading.unreadable ?? unreadableIn(reading),
      file: rejectsFile ?? "",
      isEmpty: rejectsEmpty,
      isConverted: reading.conversion !== undefined,
    },
    { retryable: false, stoppedBy: (sent?.refused.length ?? 0) > 0 ? "refused" : "invalid_input" },
  );

/** What was in the way of a run before a signal came. */
const obstacleAbout = (obstacle: Failure | undefined): About => {
  if (obstacle === undefined) return {};
  const { http, where } = obstacle.about;
  const known = { ...(http === undefined ? {} : { http }), ...(where === undefined ? {} : { where }) };
  return { ...known, stoppedBy: obstacle.code, cause: obstacle };
};

/** What is known beside a run's end that something else stopped. */
const aboutStop = (stop: Failure, problems: readonly Problem[]): About => {
  const said = problems.length > 0 ? problems : (stop.about.problems ?? []);
  return { ...obstacleAbout(stop), ...(said.length === 0 ? {} : { problems: said }), retryable: stop.retryable };
};

/** The places of a request's first and last group. */
const spanOf = (reading: Reading, { groups }: PlannedRequest): { readonly from: string; readonly to: string } => {
  const placeOf = (group = 0) => lineText(spotOfGroup(reading, group));
  return { from: placeOf(groups[0]), to: placeOf(groups.at(-1)) };
};

/** What was planned as one request, and became several after a 413: with `--strict` too, since it was sent. */
const splitWarnings = ({ problems }: Reading, { isOneJob, halved, accepted }: SendResult): readonly Problem[] =>
  halved && isOneJob && accepted > 1 && !problems.judgement.allowed.has("split-requests")
    ? [problemOf("split-requests", { requests: accepted, tooLarge: true })]
    : [];

/** What is told when it was sent, and is no error then. */
const replacedWarnings = ({ problems }: Reading, { replaced = [] }: LogFacts): readonly Problem[] =>
  problems.judgement.allowed.has("input-replaced")
    ? []
    : replaced.map((file) => problemOf("input-replaced", undefined, { file }));

const answerWarnings = ({ unreadable: { cut, notJson } }: Answers): readonly Problem[] => [
  ...Array.from({ length: cut }, () => problemOf("answer-unreadable", { cut: true })),
  ...Array.from({ length: notJson }, () => problemOf("answer-unreadable", { cut: false })),
];
