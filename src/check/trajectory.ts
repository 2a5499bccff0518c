/** Goes over a trajectory that has the types of the interface: what is unusual in it, and what the metrics need of it. */
import {
  isCalculated,
  withChoice,
  withLogprobs,
  withoutChoice,
  withoutLogprobs,
  withoutTools,
  withTools,
} from "../groups/metrics/metrics.ts";
import { nodeSize } from "../json/reader.ts";
import { afterOf, factOf, firstOf, nodeOfKey, numberAt, numbersIn, type Tabled, textOf } from "../json/table.ts";
import {
  absent,
  arrayKind,
  booleanKind,
  describe,
  kindAt,
  kindOf,
  nullKind,
  numberKind,
  objectKind,
  stringKind,
} from "./kinds.ts";
import { inspectMessages, inspectTurns, type Listed, listedNames, type Turns } from "./messages.ts";
import { none, type Report } from "./report.ts";
import { shortName } from "./rules/values.ts";
import { kindsAlone, Shape } from "./shape.ts";
import { reportNumbers, toolType, trajectoryType } from "./types.ts";

/** What is known of a trajectory. */
export class TrajectoryFacts implements Turns {
  /** Where it is in its table. */
  node = 0;
  reward = 0;
  /** The newest policy version in it; NaN if it names none. */
  version = Number.NaN;
  /** What it has to train on, and what it lacks, in bits (groups/metrics/metrics.ts). */
  training = 0;
  /** Its metrics that have a mean: their names, and in that order their values. */
  names: readonly string[] = noNames;
  readonly metrics: number[] = [];
  turns = 0;
  characters = 0;
  choices = 0;
  scored = 0;
  speaks = false;
  callsTools = false;
}

const noNames: readonly string[] = [];

/** Fields that may be absent. Assumed: services differ in whether they may also be null. */
const optionalFields = [
  "tools",
  "additional_histories",
  "initial_policy_version",
  "final_policy_version",
  "metrics",
  "metadata",
  "logs",
  "start_time",
] as const;

/** Keys by which trajectories tell that they failed, although only a group's are counted. */
const exceptionKeys = ["exception", "exceptions"] as const;

const trajectoryShape = new Shape(
  ["messages_and_choices", "reward", ...optionalFields, ...exceptionKeys],
  (kinds, text, object) => ({
    kinds,
    nulls: optionalFields.filter((field) => kinds[field] === nullKind),
    mayHaveFailed: exceptionKeys.some((key) => kinds[key] !== absent),
    isNested: kinds.metadata === objectKind && nestedIn(text, nodeOfKey(text, object, "metadata") ?? 0).length > 0,
    hasVersions: (kinds.initial_policy_version & kinds.final_policy_version) === numberKind,
  }),
);
const { slots } = trajectoryShape;

/** The names of metrics all of which have a mean, if they are finite; undefined if any has none. */
const metricsShape = new Shape([], (_, text, object): readonly string[] | undefined => {
  const members = membersOf(text, object);
  const isEach = members.size === (afterOf(text, object) - object - nodeSize) / (2 * nodeSize);
  const areMetrics = Array.from(members).every(([name, node]) => mayHaveMean(name, metricAt(text, node)));
  return isEach && areMetrics ? [...members.keys()] : undefined;
});

const historyShape = new Shape(["messages_and_choices"], kindsAlone);
const functionShape = new Shape(["name"], kindsAlone);

/** The newest policy version that the members of the trajectory's shape name; NaN for none. */
export const versionOf = (text: Tabled): number => {
  const { shape } = trajectoryType;
  const initial = shape.at(text, shape.slots.initial_policy_version);
  const final = shape.at(text, shape.slots.final_policy_version);
  if (kindOf(text, final) === numberKind) return numberAt(text, final);
  return kindOf(text, initial) === numberKind ? numberAt(text, initial) : Number.NaN;
};

/** Findings that are reported after those of the fields. */
const later: ((report: Report) => void)[] = [];

/** Reports what is unusual in a trajectory that has the types, whose version is known; says what is known of it. */
export const inspectTrajectory = (text: Tabled, node: number, facts: TrajectoryFacts, report: Report): void => {
  const { kinds, nulls, mayHaveFailed, isNested, hasVersions } = trajectoryShape.read(text, node);
  const messages = trajectoryShape.at(text, slots.messages_and_choices);
  const reward = trajectoryShape.at(text, slots.reward);
  facts.node = node;
  facts.reward = numberAt(text, reward);
  for (const field of nulls) report("null-field", () => ({ field }), trajectoryShape.at(text, slots[field]));
  if (!Number.isFinite(facts.reward)) report("reward-not-finite", none, reward);
  if (mayHaveFailed) inspectExceptions(text, report);
  const listed =
    kinds.tools === arrayKind ? inspectTools(text, trajectoryShape.at(text, slots.tools), report) : undefined;
  if (later.length > 0) later.length = 0;
  inspectTurns(text, { list: messages, listed, later, turns: facts }, report);
  if (kinds.additional_histories === arrayKind)
    inspectHistories(text, trajectoryShape.at(text, slots.additional_histories), report);
  facts.names = noNames;
  if (kinds.metrics === objectKind) inspectMetrics(text, trajectoryShape.at(text, slots.metrics), facts, report);
  if (isNested) reportMetadata(text, trajectoryShape.at(text, slots.metadata), report);
  if (kinds.logs === arrayKind) inspectLogs(text, trajectoryShape.at(text, slots.logs), report);
  for (let at = 0; at < later.length; at++) later[at]?.(report);
  if (hasVersions) inspectVersions(text, report);
  if (kinds.start_time === stringKind) inspectStart(text, report);
  const { choices, scored, speaks, callsTools } = facts;
  facts.training =
    (choices > 0 ? withChoice : speaks ? withoutChoice : 0) |
    (scored > 0 ? withLogprobs : 0) |
    (scored < choices ? withoutLogprobs : 0) |
    (kinds.tools === arrayKind ? withTools : callsTools ? withoutTools : 0);
};

const inspectExceptions = (text: Tabled, report: Report): void => {
  for (const key of exceptionKeys) {
    const value = trajectoryShape.at(text, slots[key]);
    if (value > 0 && isException(text, value)) report("exception-in-trajectory", () => ({ key }), value);
  }
};

/** True if a value says that something failed: null, an empty text and an empty list do not. */
const isException = (text: Tabled, node: number): boolean => {
  const kind = kindOf(text, node);
  if (kind === stringKind) return factOf(text, node) > 0;
  if (kind === arrayKind) return numbersIn(text, node) > 0 || afterOf(text, node) > node + nodeSize;
  return kind === objectKind || firstOf(text, node) === letterT;
};

const letterT = 0x74;

/** Gives the names of the tools; undefined if one has no name. */
const inspectTools = (text: Tabled, list: number, report: Report): Listed | undefined => {
  const names = new Set<string>();
  let areNamed = true;
  const end = afterOf(text, list);
  for (let tool = list + nodeSize; tool < end; tool = afterOf(text, tool)) {
    toolType.shape.read(text, tool);
    const type = toolType.shape.at(text, toolType.shape.slots.type);
    const own = toolType.shape.at(text, toolType.shape.slots.function);
    const isNamed = functionShape.read(text, own).name === stringKind;
    if (kindOf(text, type) !== stringKind) reportTool(tool, "type", report);
    if (isNamed) names.add(textOf(text, functionShape.at(text, 1)));
    else {
      areNamed = false;
      reportTool(own, "function.name", report);
    }
  }
  return areNamed ? listedNames(names) : undefined;
};

const reportTool = (node: number, field: string, report: Report): void =>
  report("tool-incomplete", () => ({ field }), node);

const inspectHistories = (text: Tabled, list: number, report: Report): void => {
  reportNumbers(text, list, (found, at) => report("history-type", () => ({ found }), list, at));
  const end = afterOf(text, list);
  for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
    const isObject = kindAt(text, node) === objectKind;
    const messages = isObject ? historyShape.read(text, node).messages_and_choices : absent;
    if (messages === arrayKind) inspectMessages(text, historyShape.at(text, 1), report);
    else reportHistory(text, node, report);
  }
};

const reportHistory = (text: Tabled, node: number, report: Report): void =>
  report("history-type", () => ({ found: describe(text, node) }), node);

/** The last value of each key of an object. */
const membersOf = (text: Tabled, object: number): ReadonlyMap<string, number> => {
  const members = new Map<string, number>();
  const end = afterOf(text, object);
  for (let key = object + nodeSize; key < end; key = afterOf(text, key + nodeSize)) {
    members.set(textOf(text, key), key + nodeSize);
  }
  return members;
};

/** Reports metrics without a mean, and adds the others to what is known of a trajectory. */
const inspectMetrics = (text: Tabled, object: number, facts: TrajectoryFacts, report: Report): void => {
  const names = metricsShape.read(text, object);
  if (names !== undefined) {
    let areFinite = true;
    for (let at = 0; at < names.length; at++) {
      const value = metricAt(text, object + 2 * nodeSize * (at + 1)) ?? 0;
      facts.metrics[at] = value;
      areFinite &&= Number.isFinite(value);
    }
    facts.names = names;
    if (areFinite) return;
  }
  facts.metrics.length = 0;
  const means = Array.from(membersOf(text, object)).filter(([name, node]) => {
    const value = metricAt(text, node);
    const has = mayHaveMean(name, value) && Number.isFinite(value);
    if (has) facts.metrics.push(value);
    else reportMetric(text, { name, node }, report);
    return has;
  });
  facts.names = means.map(([name]) => name);
};

const mayHaveMean = (name: string, value: number | undefined): value is number =>
  value !== undefined && !isCalculated(name);

const metricAt = (text: Tabled, node: number): number | undefined => {
  const kind = kindOf(text, node);
  if (kind === numberKind) return numberAt(text, node);
  return kind === booleanKind ? Number(firstOf(text, node) === letterT) : undefined;
};

const reportMetric = (
  text: Tabled,
  { name, node }: { readonly name: string; readonly node: number },
  report: Report,
): void => {
  if (metricAt(text, node) === undefined) {
    report("metric-type", () => ({ key: shortName(name), found: describe(text, node) }), node);
  } else if (isCalculated(name)) report("metric-name", () => ({ key: name }), node);
  else report("metric-not-finite", () => ({ key: shortName(name) }), node);
};

/** Members of metadata that are objects or arrays. */
const nestedIn = (text: Tabled, object: number): readonly (readonly [string, number])[] =>
  Array.from(membersOf(text, object)).filter(([, node]) => (kindOf(text, node) & (objectKind | arrayKind)) !== 0);

const reportMetadata = (text: Tabled, object: number, report: Report): void => {
  for (const [name, node] of nestedIn(text, object)) {
    report("metadata-nested", () => ({ key: shortName(name), found: describe(text, node) }), node);
  }
};

const inspectLogs = (text: Tabled, list: number, report: Report): void => {
  if (numbersIn(text, list) > 0) {
    reportNumberLogs(text, list, report);
    return;
  }
  const end = afterOf(text, list);
  for (let log = list + nodeSize; log < end; log = afterOf(text, log)) {
    if (kindAt(text, log) !== stringKind) reportLog(text, log, report);
  }
};

const reportNumberLogs = (text: Tabled, list: number, report: Report): void =>
  reportNumbers(text, list, (found, at) => report("log-type", () => ({ found }), list, at));

const reportLog = (text: Tabled, node: number, report: Report): void =>
  report("log-type", () => ({ found: describe(text, node) }), node);

const inspectVersions = (text: Tabled, report: Report): void => {
  const initial = trajectoryShape.at(text, slots.initial_policy_version);
  const final = trajectoryShape.at(text, slots.final_policy_version);
  if (numberAt(text, final) < numberAt(text, initial)) reportOrder(text, { initial, final }, report);
};

const reportOrder = (
  text: Tabled,
  { initial, final }: { readonly initial: number; readonly final: number },
  report: Report,
): void => report("policy-order", () => ({ initial: numberAt(text, initial), final: numberAt(text, final) }), final);

const inspectStart = (text: Tabled, report: Report): void => {
  const start = trajectoryShape.at(text, slots.start_time);
  if (lacksZone(textOf(text, start))) reportZone(text, start, report);
};

const reportZone = (text: Tabled, start: number, report: Report): void =>
  report("start-time-zone", () => ({ found: shortName(textOf(text, start)) }), start);

/** True if a date and time names no zone. */
const lacksZone = (text: string): boolean => !/(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(text.slice("2025-11-01".length));
