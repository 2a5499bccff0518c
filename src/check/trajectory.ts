/** Checks a trajectory (interface 2.1), and collects facts for the metrics. */
import { isDateTime } from "../contract/date-time.ts";
import { isCalculated, trainingBits } from "../groups/metrics/metrics.ts";
import { nodeSize } from "../json/reader.ts";
import type { JsonTable, JsonValue } from "../json/table.ts";
import * as json from "../json/table.ts";
import { isObject } from "../json/walk.ts";
import { inspectCalls, inspectMessages, newMessageFacts } from "./messages.ts";
import { shortName } from "./rules/positions.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts, mapMembers, Shape } from "./shape.ts";
import type { Check, Report } from "./types.ts";
import { anyValue, checkElements, defineObjectType, optional, reportWrongType, required } from "./types.ts";

const noMetrics: readonly string[] = [];

/** Returns empty facts. Doubles start as NaN, because V8 compiles again if an integer becomes a double. */
export const newTrajectoryFacts = () => ({
  node: 0,
  reward: Number.NaN,
  /** The final policy version, else the initial version; NaN if both are absent. */
  version: Number.NaN,
  /** Training data that it has and lacks, as bits (groups/metrics/metrics.ts). */
  training: 0,
  /** Names and values of its metrics, in the same order. */
  names: noMetrics,
  metrics: [Number.NaN],
  ...newMessageFacts(),
});

export type TrajectoryFacts = ReturnType<typeof newTrajectoryFacts>;

const string = optional(Kind.string);
const functionType = defineObjectType(
  { name: string, description: string, parameters: optional(Kind.object), strict: optional(Kind.boolean) },
  kindsAsFacts,
);

/** A tool that was offered to the model. Assumed: all but the function may be absent. */
const toolType = defineObjectType({ type: string, function: required(Kind.object, functionType.check) }, kindsAsFacts);

const checkTools: Check = (text, list, report) => {
  let fits = checkElements(text, list, { kind: Kind.object, field: "tools" }, report);
  const end = json.nodeAfter(text, list);
  for (let tool = list + nodeSize; tool < end; tool = json.nodeAfter(text, tool)) {
    if (kindAt(text, tool) === Kind.object && !toolType.check(text, tool, report)) fits = false;
  }
  return fits;
};

const versionField = (field: string) => {
  const wanted = "a whole number";
  // Integers above 2^53 are valid, because rollcall sends the original digits.
  const check: Check = (text, node, report) =>
    Number.isInteger(json.readNumber(text, node)) || reportWrongType(text, { node, field, wanted }, report);
  return { ...optional(Kind.number, check), expected: wanted };
};

const checkStartTime: Check = (text, node, report) => {
  const start = json.readString(text, node);
  const fits = isDateTime(start);
  const isZoned = /(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(start.slice("2025-11-01".length));
  if (!fits) report("start-time-invalid", undefined, node);
  else if (!isZoned) report("missing-utc-offset", { found: shortName(start) }, node);
  return fits;
};

/** Keys of failed trajectories. `exception_rate` ignores them, because it counts the exceptions of groups. */
const failureKeys = ["exception", "exceptions"] as const;

/** Assumed: messages and reward are required. Other fields can be absent, or null with a warning. */
const trajectoryType = defineObjectType(
  {
    messages_and_choices: required(Kind.array),
    tools: optional(Kind.array, checkTools),
    additional_histories: optional(Kind.array),
    reward: required(Kind.number),
    initial_policy_version: versionField("initial_policy_version"),
    final_policy_version: versionField("final_policy_version"),
    metrics: optional(Kind.object),
    metadata: optional(Kind.object),
    logs: optional(Kind.array),
    start_time: optional(Kind.string, checkStartTime),
    exception: anyValue,
    exceptions: anyValue,
  },
  (kinds, text): { readonly hasFailureKey: boolean; readonly hasNested: boolean } => ({
    hasFailureKey: failureKeys.some((key) => kinds[key] !== Kind.absent),
    hasNested: kinds.metadata === Kind.object && listNestedMembers(text, shape.at(text, slots.metadata)).length > 0,
  }),
);
const { shape } = trajectoryType;
const { slots } = shape;

export const isTrajectory = ({ text, node }: JsonValue): boolean =>
  kindAt(text, node) === Kind.object && trajectoryType.check(text, node, () => undefined);

/** Lists the keys of a trajectory that the interface does not define, and the keys of its metadata. */
export const listCustomKeys = (value: unknown): readonly string[] => {
  if (!isObject(value)) return [];
  const known = new Set<string>(shape.names.filter((name) => !/^exceptions?$/.test(name)));
  const metadata = isObject(value.metadata) ? Object.keys(value.metadata) : [];
  return [...Object.keys(value).filter((key) => !known.has(key)), ...metadata];
};

/** Sets the facts of a trajectory. Returns false, and sets none, if a field is not valid. */
export const inspectTrajectory = (text: JsonTable, node: number, facts: TrajectoryFacts, report: Report): boolean => {
  if (!trajectoryType.check(text, node, report)) return false;
  facts.node = node;
  const { kinds, nulls, more } = shape.read(text, node);
  const rewardNode = shape.at(text, slots.reward);
  const reward = json.readNumber(text, rewardNode);
  for (const field of nulls) report("null-field", { field }, shape.at(text, slots[field]));
  if (!Number.isFinite(reward)) report("reward-not-finite", undefined, rewardNode);
  if (more.hasFailureKey) inspectExceptions(text, report);
  const offered = kinds.tools === Kind.array ? inspectTools(text, shape.at(text, slots.tools), report) : undefined;
  const list = shape.at(text, slots.messages_and_choices);
  inspectMessages(text, list, facts, report);
  const { choices, choicesWithLogprobs, hasAssistantTurn, callsTools } = facts;
  inspectCalls(text, facts, offered, report);
  if (!hasAssistantTurn && choices === 0) report("no-assistant-turn", undefined, list);
  if (kinds.additional_histories === Kind.array)
    inspectHistories(text, shape.at(text, slots.additional_histories), report);
  facts.names = noMetrics;
  if (kinds.metrics === Kind.object) inspectMetrics(text, shape.at(text, slots.metrics), facts, report);
  if (more.hasNested) inspectMetadata(text, shape.at(text, slots.metadata), report);
  if (kinds.logs === Kind.array)
    checkElements(text, shape.at(text, slots.logs), { kind: Kind.string, rule: "log-type" }, report);
  const initial = readVersion(text, slots.initial_policy_version);
  const final = readVersion(text, slots.final_policy_version);
  if (final < initial)
    report("policy-versions-reversed", { initial, final }, shape.at(text, slots.final_policy_version));
  const bits = trainingBits;
  facts.reward = reward;
  facts.version = Number.isNaN(final) ? initial : final;
  facts.training =
    (choices > 0 ? bits.choice : hasAssistantTurn ? 2 * bits.choice : 0) |
    (choicesWithLogprobs > 0 ? bits.logprobs : 0) |
    (choicesWithLogprobs < choices ? 2 * bits.logprobs : 0) |
    (kinds.tools === Kind.array ? bits.tools : callsTools ? 2 * bits.tools : 0);
  return true;
};

const readVersion = (text: JsonTable, slot: number): number => {
  const node = shape.at(text, slot);
  return kindOf(text, node) === Kind.number ? json.readNumber(text, node) : Number.NaN;
};

const inspectExceptions = (text: JsonTable, report: Report): void => {
  for (const key of failureKeys) {
    const value = shape.at(text, slots[key]);
    if (value > 0 && isException(json.parseNode(text, value))) report("exception-in-trajectory", { key }, value);
  }
};

/** True if a value describes a failure: true, an object, a nonempty string or a nonempty array. */
const isException = (value: unknown): boolean =>
  isObject(value) || value === true || ((typeof value === "string" || Array.isArray(value)) && value.length > 0);

const inspectTools = (text: JsonTable, list: number, report: Report): ReadonlySet<string> | undefined => {
  const names = new Set<string>();
  let areNamed = true;
  const end = json.nodeAfter(text, list);
  for (let tool = list + nodeSize; tool < end; tool = json.nodeAfter(text, tool)) {
    const { kinds } = toolType.shape.read(text, tool);
    const functionNode = toolType.shape.at(text, toolType.shape.slots.function);
    if (kinds.type !== Kind.string) report("tool-incomplete", { field: "type" }, tool);
    const isNamed = functionType.shape.read(text, functionNode).kinds.name === Kind.string;
    if (isNamed) names.add(json.readString(text, functionType.shape.at(text, functionType.shape.slots.name)));
    else report("tool-incomplete", { field: "function.name" }, functionNode);
    areNamed &&= isNamed;
  }
  return areNamed ? names : undefined;
};

const inspectHistories = (text: JsonTable, list: number, report: Report): void => {
  checkElements(text, list, { kind: Kind.object, rule: "history-type" }, report);
  const end = json.nodeAfter(text, list);
  for (let node = list + nodeSize; node < end; node = json.nodeAfter(text, node)) {
    if (kindAt(text, node) !== Kind.object) continue;
    const messagesNode = json.findMemberNode(text, node, "messages_and_choices") ?? 0;
    if (kindOf(text, messagesNode) === Kind.array) inspectMessages(text, messagesNode, newMessageFacts(), report);
    else report("history-type", { found: describeValue(text, node) }, node);
  }
};

const listNestedMembers = (text: JsonTable, object: number): readonly (readonly [string, number])[] =>
  Array.from(mapMembers(text, object)).filter(([, node]) => (kindOf(text, node) & (Kind.object | Kind.array)) !== 0);

const inspectMetadata = (text: JsonTable, object: number, report: Report): void => {
  for (const [name, node] of listNestedMembers(text, object)) {
    report("metadata-nested", { key: shortName(name), found: describeValue(text, node) }, node);
  }
};

/** The names of the metrics if none is repeated, reserved or of a wrong type; otherwise undefined. */
const metricsShape = new Shape([], (_, text, object): readonly string[] | undefined => {
  const members = mapMembers(text, object);
  const areUnique = members.size === (json.nodeAfter(text, object) - object - nodeSize) / (2 * nodeSize);
  const areMetrics = [...members].every(([name, node]) => readMetric(text, node) !== undefined && !isCalculated(name));
  return areUnique && areMetrics ? [...members.keys()] : undefined;
});

const inspectMetrics = (text: JsonTable, object: number, facts: TrajectoryFacts, report: Report): void => {
  const names = metricsShape.read(text, object);
  if (names !== undefined) {
    let areFinite = true;
    for (let at = 0; at < names.length; at++) {
      const value = readMetric(text, object + 2 * nodeSize * (at + 1)) ?? 0;
      facts.metrics[at] = value;
      areFinite &&= Number.isFinite(value);
    }
    facts.names = names;
    if (areFinite) return;
  }
  facts.metrics.length = 0;
  const metricNames: string[] = [];
  for (const [name, node] of mapMembers(text, object)) {
    const value = readMetric(text, node);
    const key = shortName(name);
    if (value === undefined) report("metric-type", { key, found: describeValue(text, node) }, node);
    else if (isCalculated(name)) report("metric-name", { key: name }, node);
    else if (!Number.isFinite(value)) report("metric-not-finite", { key }, node);
    else facts.metrics[metricNames.push(name) - 1] = value;
  }
  facts.names = metricNames;
};

const letterT = 0x74;

const readMetric = (text: JsonTable, node: number): number | undefined => {
  const kind = kindOf(text, node);
  if (kind === Kind.number) return json.readNumber(text, node);
  return kind === Kind.boolean ? Number(json.firstByteAt(text, node) === letterT) : undefined;
};
