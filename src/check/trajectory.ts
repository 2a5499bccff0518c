/** Goes over a trajectory that has the types of the interface: what is unusual in it, and what the metrics need of it. */
import {
  withChoice,
  withLogprobs,
  withoutChoice,
  withoutLogprobs,
  withoutTools,
  withTools,
} from "../groups/metrics/constants.ts";
import { isCalculated } from "../groups/metrics/metrics.ts";
import { nodeSize } from "../json/reader.ts";
import { afterOf, factOf, firstOf, numberAt, numbersIn, type Tabled, textOf } from "../json/table.ts";
import {
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
import { Shape } from "./shape.ts";
import { reportNumbers, toolType, trajectoryType } from "./types.ts";

/** What is known of a trajectory. */
export interface TrajectoryFacts extends Pick<Turns, "turns" | "characters" | "choices" | "scored"> {
  /** Where it is in its table. */
  readonly node: number;
  readonly reward: number;
  /** Its metrics that have a mean, by their names. */
  readonly metrics: Metrics;
  /** The newest policy version in it; NaN if it names none. */
  readonly version: number;
  /** What it has to train on, and what it lacks, in bits (groups/metrics/constants.ts). */
  readonly training: number;
}

type Metrics = Readonly<Record<string, number>>;

const { slots, values } = trajectoryType.shape;

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
const optionalSlots = optionalFields.map((field) => slots[field]);

/** Keys by which trajectories tell that they failed, although only a group's are counted. */
const exceptionShape = new Shape(["exception", "exceptions"]);
const exceptionKeys = ["exception", "exceptions"] as const;

const historyShape = new Shape(["messages_and_choices"]);
const functionShape = new Shape(["name"]);

/** The newest policy version that the members of the trajectory's shape name; NaN for none. */
export const versionOf = (text: Tabled): number => {
  const initial = values[slots.initial_policy_version] ?? 0;
  const final = values[slots.final_policy_version] ?? 0;
  if (kindOf(text, final) === numberKind) return numberAt(text, final);
  return kindOf(text, initial) === numberKind ? numberAt(text, initial) : Number.NaN;
};

/** Reports what is unusual in a trajectory that has the types; gives what is known of it. */
export const inspectTrajectory = (text: Tabled, node: number, report: Report): TrajectoryFacts => {
  trajectoryType.shape.read(text, node);
  const version = versionOf(text);
  const messages = values[slots.messages_and_choices] ?? 0;
  const reward = values[slots.reward] ?? 0;
  const tools = values[slots.tools] ?? 0;
  const histories = values[slots.additional_histories] ?? 0;
  const metrics = values[slots.metrics] ?? 0;
  const metadata = values[slots.metadata] ?? 0;
  const logs = values[slots.logs] ?? 0;
  for (let at = 0; at < optionalSlots.length; at++) {
    if (kindOf(text, values[optionalSlots[at] ?? 0] ?? 0) === nullKind) reportNull(at, report);
  }
  const rewardValue = numberAt(text, reward);
  if (!Number.isFinite(rewardValue)) report("reward-not-finite", none, reward);
  inspectExceptions(text, node, report);
  const listed = kindOf(text, tools) === arrayKind ? inspectTools(text, tools, report) : undefined;
  later.length = 0;
  const turns = inspectTurns(text, { list: messages, listed, later }, report);
  if (kindOf(text, histories) === arrayKind) inspectHistories(text, histories, report);
  const ownMetrics = kindOf(text, metrics) === objectKind ? inspectMetrics(text, metrics, report) : noMetrics;
  if (kindOf(text, metadata) === objectKind) inspectMetadata(text, metadata, report);
  if (kindOf(text, logs) === arrayKind) inspectLogs(text, logs, report);
  for (let at = 0; at < later.length; at++) later[at]?.(report);
  inspectVersions(text, report);
  inspectStart(text, report);
  const { characters, choices, scored } = turns;
  const training =
    (choices > 0 ? withChoice : turns.speaks ? withoutChoice : 0) |
    (scored > 0 ? withLogprobs : 0) |
    (scored < choices ? withoutLogprobs : 0) |
    (kindOf(text, tools) === arrayKind ? withTools : turns.calls ? withoutTools : 0);
  return {
    node,
    reward: rewardValue,
    turns: turns.turns,
    characters,
    choices,
    scored,
    metrics: ownMetrics,
    version,
    training,
  };
};

/** Findings that are reported after those of the fields. */
const later: ((report: Report) => void)[] = [];

const noMetrics: Metrics = {};

const reportNull = (at: number, report: Report): void =>
  report("null-field", () => ({ field: optionalFields[at] ?? "" }), values[optionalSlots[at] ?? 0] ?? 0);

const inspectExceptions = (text: Tabled, node: number, report: Report): void => {
  exceptionShape.read(text, node);
  for (const key of exceptionKeys) {
    const value = exceptionShape.values[exceptionShape.slots[key]] ?? 0;
    if (value > 0 && isException(text, value)) reportException(key, value, report);
  }
};

const reportException = (key: string, node: number, report: Report): void =>
  report("exception-in-trajectory", () => ({ key }), node);

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
    const type = toolType.shape.values[toolType.shape.slots.type] ?? 0;
    const own = toolType.shape.values[toolType.shape.slots.function] ?? 0;
    functionShape.read(text, own);
    const name = functionShape.values[functionShape.slots.name] ?? 0;
    if (kindOf(text, type) !== stringKind) reportTool(tool, "type", report);
    if (kindOf(text, name) === stringKind) names.add(textOf(text, name));
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
    if (isObject) historyShape.read(text, node);
    const messages = isObject ? (historyShape.values[1] ?? 0) : 0;
    if (kindOf(text, messages) === arrayKind) inspectMessages(text, messages, report);
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

/** Gives the metrics that are numbers or booleans, which are 0 or 1. */
const inspectMetrics = (text: Tabled, object: number, report: Report): Metrics => {
  const own: Record<string, number> = {};
  const end = afterOf(text, object);
  for (let key = object + nodeSize; key < end; key = afterOf(text, key + nodeSize)) {
    const name = textOf(text, key);
    const value = metricAt(text, key + nodeSize);
    if (!isMetric(name, value) || name === "__proto__") return inspectOddMetrics(text, object, report);
    own[name] = value;
  }
  return own;
};

const isMetric = (name: string, value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && !isCalculated(name);

const inspectOddMetrics = (text: Tabled, object: number, report: Report): Metrics => {
  const own = Array.from(membersOf(text, object)).flatMap(([name, node]) => {
    const value = metricAt(text, node);
    if (isMetric(name, value)) return [[name, value] as const];
    reportMetric(text, { name, node }, report);
    return [];
  });
  return Object.fromEntries(own);
};

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

const inspectMetadata = (text: Tabled, object: number, report: Report): void => {
  const end = afterOf(text, object);
  for (let key = object + nodeSize; key < end; key = afterOf(text, key + nodeSize)) {
    if ((kindOf(text, key + nodeSize) & (objectKind | arrayKind)) === 0) continue;
    reportMetadata(text, object, report);
    return;
  }
};

const reportMetadata = (text: Tabled, object: number, report: Report): void => {
  for (const [name, node] of membersOf(text, object)) {
    if ((kindOf(text, node) & (objectKind | arrayKind)) === 0) continue;
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
  const initial = values[slots.initial_policy_version] ?? 0;
  const final = values[slots.final_policy_version] ?? 0;
  if (kindOf(text, initial) !== numberKind || kindOf(text, final) !== numberKind) return;
  if (numberAt(text, final) < numberAt(text, initial)) reportOrder(text, { initial, final }, report);
};

const reportOrder = (
  text: Tabled,
  { initial, final }: { readonly initial: number; readonly final: number },
  report: Report,
): void => report("policy-order", () => ({ initial: numberAt(text, initial), final: numberAt(text, final) }), final);

const inspectStart = (text: Tabled, report: Report): void => {
  const start = values[slots.start_time] ?? 0;
  if (kindOf(text, start) !== stringKind) return;
  if (lacksZone(textOf(text, start))) reportZone(text, start, report);
};

const reportZone = (text: Tabled, start: number, report: Report): void =>
  report("start-time-zone", () => ({ found: shortName(textOf(text, start)) }), start);

/** True if a date and time names no zone. */
const lacksZone = (text: string): boolean => !/(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(text.slice("2025-11-01".length));
