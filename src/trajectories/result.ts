/** What a run of `log` or `check` came to: one value, which the screen prints. */
import { Failure, isFailure, type Problem } from "../failure.ts";
import type { Plan, PlannedRequest } from "./plan.ts";
import { problemOf } from "./problems.ts";
import { invalidInput, type Reading } from "./read.ts";
import { refusalProblems } from "./refusal.ts";
import type { Sending, SentRequest } from "./send.ts";

/** How many of something there are, by what became of them (cli.md, "`log --json`"). */
export interface Counts {
  readonly read: number;
  readonly logged: number;
  readonly already_logged: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly not_sent: number;
}

/** What a run of `log` came to. */
export interface LogResult {
  readonly status: "logged" | "planned" | "partial" | "unknown";
  readonly modelId: string;
  /** Undefined where the run stopped before it was known. */
  readonly split: string | undefined;
  readonly requests: number;
  readonly bytes: number;
  readonly groups: Counts;
  readonly trajectories: Counts;
  readonly metrics: Readonly<Record<string, number>>;
  /** The service's answers, in the order of the requests. */
  readonly answers: readonly { readonly status: number; readonly body: Uint8Array }[];
  readonly warnings: readonly Problem[];
  /** What the run ends with; undefined where all was logged or planned. */
  readonly failure: Failure | undefined;
}

/** What a run of `check` came to. */
export interface CheckResult {
  readonly status: "valid" | "invalid";
  readonly split: string | undefined;
  readonly groups: { readonly read: number; readonly rejected: number };
  readonly trajectories: { readonly read: number; readonly rejected: number };
  readonly metrics: Readonly<Record<string, number>>;
  readonly problems: readonly Problem[];
  /** Problems that were counted and not kept. */
  readonly problemsLeftOut: number;
  readonly failure: Failure | undefined;
}

/** What reading alone came to. */
export const checkResult = (reading: Reading): CheckResult => {
  const { groups, problems, split, found } = reading;
  const read = countGroups(reading, 0, groups.count);
  const rejected = { groups: 0, trajectories: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (groups.isValid(group)) continue;
    rejected.groups++;
    rejected.trajectories += groups.trajectoriesOf(group);
  }
  const failure = problems.errors > 0 ? invalidInput(problems, filesOf(reading)) : undefined;
  const kept = problems.sorted(filesOf(reading));
  return {
    status: failure === undefined ? "valid" : "invalid",
    split,
    groups: { read: read.groups, rejected: rejected.groups },
    trajectories: { read: read.trajectories, rejected: rejected.trajectories },
    metrics: found.tally.metrics(split),
    problems: kept,
    problemsLeftOut: problems.counts.reduce((sum, { count }) => sum + count, 0) - kept.length,
    failure,
  };
};

/** What planning and sending came to; without a sending nothing was meant to be sent. */
export const logResult = async (
  reading: Reading,
  {
    plan,
    sending,
    modelId,
    split,
  }: {
    readonly plan: Plan;
    readonly sending: Sending | undefined;
    readonly modelId: string;
    readonly split: string;
  },
): Promise<LogResult> => {
  const sent = sending?.sent ?? [];
  const logged = sum(reading, sent, "logged");
  const unknown = sum(reading, sent, "unknown");
  const read = countGroups(reading, 0, reading.groups.count);
  const counts = (of: keyof Amount): Counts => ({
    read: read[of],
    logged: logged[of],
    already_logged: 0,
    rejected: 0,
    unknown: unknown[of],
    not_sent: read[of] - logged[of] - unknown[of],
  });
  const groups = counts("groups");
  const failure = sending?.stop === undefined ? undefined : await endOf(reading, { plan, sending, groups });
  return {
    status: statusOf({ sending, unknown: unknown.groups, failure }),
    modelId,
    split,
    requests: plan.requests.length,
    bytes: plan.bytes,
    groups,
    trajectories: counts("trajectories"),
    metrics: reading.found.tally.metrics(split),
    answers: sent.flatMap(({ answer }) => answer ?? []),
    warnings: [...warningsOf(reading), ...sent.flatMap(answerWarnings)],
    failure,
  };
};

/** What a run came to that a signal stopped while it was reading. */
export const unreadResult = ({
  modelId,
  split,
  failure,
}: {
  readonly modelId: string;
  readonly split: string | undefined;
  readonly failure: Failure;
}): LogResult => {
  const none = { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };
  return {
    status: "partial",
    modelId,
    split,
    requests: 0,
    bytes: 0,
    groups: none,
    trajectories: none,
    metrics: {},
    answers: [],
    warnings: [],
    failure,
  };
};

/** The warnings of what was read, in the order of the input. */
const warningsOf = (reading: Reading): readonly Problem[] =>
  reading.problems.sorted(filesOf(reading)).filter(({ severity }) => severity === "warning");

const filesOf = ({ sources }: Reading): readonly string[] => sources.map(({ name }) => name);

interface Amount {
  readonly groups: number;
  readonly trajectories: number;
}

const countGroups = ({ groups }: Reading, first: number, end: number): Amount => {
  let trajectories = 0;
  for (let group = first; group < end; group++) trajectories += groups.trajectoriesOf(group);
  return { groups: end - first, trajectories };
};

const sum = (reading: Reading, sent: readonly SentRequest[], wanted: SentRequest["outcome"]): Amount =>
  sent
    .filter(({ outcome }) => outcome === wanted)
    .map(({ request }) => countGroups(reading, request.first, request.end))
    .reduce((a, b) => ({ groups: a.groups + b.groups, trajectories: a.trajectories + b.trajectories }), {
      groups: 0,
      trajectories: 0,
    });

const statusOf = ({
  sending,
  unknown,
  failure,
}: {
  readonly sending: Sending | undefined;
  readonly unknown: number;
  readonly failure: Failure | undefined;
}): LogResult["status"] => {
  if (sending === undefined) return "planned";
  if (unknown > 0) return "unknown";
  return failure === undefined ? "logged" : "partial";
};

/** What a stopped run ends with: unknown goes before a signal, a signal before partial, partial before the rest. */
const endOf = async (
  reading: Reading,
  { plan, sending, groups }: { readonly plan: Plan; readonly sending: Sending; readonly groups: Counts },
): Promise<Failure | undefined> => {
  const { stop, sent } = sending;
  const last = sent.at(-1);
  if (stop === undefined) return undefined;
  const body = last?.outcome === "refused" ? last.answer?.body : undefined;
  const problems =
    last === undefined || body === undefined ? [] : await refusalProblems(reading, { request: last.request, body });
  const { http, where } = stop.about;
  const about = {
    ...(http === undefined ? {} : { http }),
    ...(where === undefined ? {} : { where }),
    ...(problems.length === 0 ? {} : { problems }),
    stoppedBy: stop.code,
    cause: stop,
  };
  const facts = {
    logged: groups.logged,
    notSent: groups.not_sent,
    unknown: groups.unknown,
    requests: plan.requests.length,
  };
  if (last?.outcome === "unknown") {
    const ends = spanOf(reading, last.request);
    return new Failure("log-unknown", { ...facts, ...ends, request: plan.requests.indexOf(last.request) + 1 }, about);
  }
  if (isFailure(stop, "interrupted")) return stop;
  const suggested = isFailure(stop, "request-too-large") ? stop.data.suggested : undefined;
  if (groups.logged > 0) return new Failure("log-partial", { ...facts, suggested }, about);
  return problems.length === 0 ? stop : stop.also({ problems });
};

/** The places of a request's first and last group. */
const spanOf = (
  { groups, found, sources }: Reading,
  { first, end }: PlannedRequest,
): { readonly from: string; readonly to: string } => {
  const placeOf = (group: number) => {
    const part = found.parts.at(groups.partsOf(group)[0] ?? 0);
    return `${sources[part.source]?.name ?? "the input"}:${part.line}`;
  };
  return { from: placeOf(first), to: placeOf(end - 1) };
};

const answerWarnings = ({ outcome, answer }: SentRequest): readonly Problem[] => {
  if (outcome !== "logged" || answer === undefined) return [];
  if (answer.cut) return [problemOf("answer-unreadable", { cut: true })];
  return answer.body.length === 0 || isJson(answer.body) ? [] : [problemOf("answer-unreadable", { cut: false })];
};

const isJson = (body: Uint8Array): boolean => {
  try {
    JSON.parse(Buffer.from(body).toString("utf8"));
    return true;
  } catch {
    return false;
  }
};
