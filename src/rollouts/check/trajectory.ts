/** Checks trajectories (interface 2.1), and collects their facts. */

import { isObject } from "../../json/json-bytes.ts";
import { nodeSize } from "../../json/reader.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts, mapMembers, Shape } from "../../json/shape.ts";
import type { JsonTable, JsonValue } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { isDateTime } from "../../text/units.ts";
import { noMetrics, type TrajectoryFacts } from "../index/fact-columns.ts";
import { isCalculated, trainingBits } from "../index/metrics.ts";
import { isPolicyColumn, stepHolders } from "../rules/names.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleReporter } from "../rules/rules.ts";
import { MessageWalk } from "./message-walk.ts";
import { lacksPrompt, type WalkOptions, walkMessages } from "./messages.ts";
import { hashSteps } from "./policy-steps.ts";
import { inspectToolCalls } from "./tool-calls.ts";
import {
  anyValue,
  type Check,
  checkElements,
  defineObjectType,
  optionalField,
  reportWrongType,
  requiredField,
} from "./types.ts";

const string = optionalField(Kind.string);
const functionType = defineObjectType(
  { name: string, description: string, parameters: optionalField(Kind.object), strict: optionalField(Kind.boolean) },
  kindsAsFacts,
);

/** Assumed: `function` is the only required field of a tool. */
const toolType = defineObjectType(
  { type: string, function: requiredField(Kind.object, functionType.check) },
  kindsAsFacts,
);

const checkTools: Check = (table, list, report) => {
  let fits = checkElements(table, list, { kind: Kind.object, field: "tools" }, report);
  const end = json.nodeAfter(table, list);
  for (let tool = list + nodeSize; tool < end; tool = json.nodeAfter(table, tool)) {
    if (kindAt(table, tool) === Kind.object && !toolType.check(table, tool, report)) fits = false;
  }
  return fits;
};

const versionField = (field: string) => {
  const wanted = "a whole number";
  // Integers above 2^53 are valid, because rollcall sends the original digits.
  const check: Check = (table, node, report) =>
    Number.isInteger(json.readNumber(table, node)) || reportWrongType(table, { node, field, wanted }, report);
  return { ...optionalField(Kind.number, check), expected: wanted };
};

const checkStartTime: Check = (table, node, report) => {
  const fits = isDateTime(json.readString(table, node));
  if (!fits) report("start-time-invalid", undefined, node);
  return fits;
};

/** `Z`, `+00:00`, `+0000` or `+00` at the end of a time, and the quote. */
const offset = /(?:z|[+-]\d\d(?::?\d\d)?)"$/i;
const maxOffsetBytes = 7;

/** Reads only the end, so that most times are not decoded again. */
const hasOffset = ({ bytes }: JsonTable, end: number) =>
  offset.test(bytes.toString("latin1", end - maxOffsetBytes, end));

/** Keys of the shape that are not fields of the interface. */
const customKeys: ReadonlySet<string> = new Set(["info", "extra_info", "exchanges"]);

/** Assumed: `messages_and_choices` and `reward` are required, and other fields can be null. */
const trajectoryType = defineObjectType(
  {
    // Newer clients of the service write their exchanges with an API instead.
    messages_and_choices: { ...requiredField(Kind.array), instead: "exchanges" },
    tools: optionalField(Kind.array, checkTools),
    additional_histories: optionalField(Kind.array),
    // Such clients also leave out a reward of 0.
    reward: { ...requiredField(Kind.number), instead: "exchanges" },
    initial_policy_version: versionField("initial_policy_version"),
    final_policy_version: versionField("final_policy_version"),
    metrics: optionalField(Kind.object),
    metadata: optionalField(Kind.object),
    logs: optionalField(Kind.array),
    start_time: optionalField(Kind.string, checkStartTime),
    info: anyValue,
    extra_info: anyValue,
    exchanges: anyValue,
  },
  ({ kinds, list }) => ({
    hasStep: list().some(({ key }) => isPolicyColumn(key)),
    stepHolders: stepHolders.filter((key) => kinds[key] === Kind.object),
  }),
);
const { shape } = trajectoryType;
const { slots } = shape;

/** The fields of interface 2.1. */
export const trajectoryFields: readonly string[] = shape.names.filter((name) => !customKeys.has(name));

/** `wanted` is a text such as `an array`, and undefined for a missing field. */
export type TypeFault = Readonly<{ path: json.Path; wanted: string | undefined }>;

/** Lists the first `max` violations of the types of interface 2.1; none for a valid trajectory. */
export const listTypeFaults = ({ table, node: from }: JsonValue, max: number): readonly TypeFault[] => {
  if (kindAt(table, from) !== Kind.object) return [{ path: [], wanted: "an object" }];
  const faults: TypeFault[] = [];
  trajectoryType.check(table, from, (rule, data, node, ...steps) => {
    if (faults.length === max) return;
    const { path } = json.findInnermost(table, { from, byte: json.startOf(table, node) });
    const wanted = isObject(data) && typeof data.wanted === "string" ? data.wanted : undefined;
    faults.push({ path: [...path, ...steps], wanted: rule === "start-time-invalid" ? "a datetime" : wanted });
  });
  return faults;
};

export const listCustomKeys = (value: unknown): readonly string[] => {
  if (!isObject(value)) return [];
  const known = new Set(trajectoryFields);
  const listKeys = (object: object) => Object.entries(object).flatMap(([key, one]) => (one === null ? [] : [key]));
  const metadata = isObject(value.metadata) ? listKeys(value.metadata) : [];
  return [...listKeys(value).filter((key) => !known.has(key)), ...metadata];
};

/** Fills `facts`. Returns undefined if a field has the wrong type. */
export const inspectTrajectory = (
  table: JsonTable,
  node: number,
  facts: TrajectoryFacts,
  report: RuleReporter,
  options?: WalkOptions,
): MessageWalk | undefined => {
  if (!trajectoryType.check(table, node, report)) return undefined;
  facts.node = node;
  const { kinds, nulls, derived } = shape.read(table, node);
  reportRepeatedKeys(table, shape, report);
  const rewardNode = shape.at(table, slots.reward);
  const reward = rewardNode > 0 ? json.readNumber(table, rewardNode) : 0;
  if (nulls.length > 0)
    for (const name of nulls)
      report("element-type", { element: "field", name, found: "null" }, shape.at(table, slots[name]));
  if (!Number.isFinite(reward)) report("reward-not-finite", undefined, rewardNode);
  if (kinds.tools === Kind.array) inspectTools(table, shape.at(table, slots.tools), report);
  const list = shape.at(table, slots.messages_and_choices);
  if (kinds.additional_histories === Kind.array)
    inspectHistories(table, shape.at(table, slots.additional_histories), report);
  const hasMessages = kinds.messages_and_choices === Kind.array;
  if (!hasMessages) report("unchecked-exchanges", undefined, node);
  const walk = hasMessages ? walkMessages(table, list, report, options) : new MessageWalk();
  const { firstTurn, promptEnd, cutNode } = walk;
  facts.list = list;
  facts.promptEnd = promptEnd;
  facts.hasGreeting = walk.hasGreeting;
  facts.isSilent = walk.isSilent;
  if (cutNode > 0) report("truncated-trajectory", undefined, cutNode);
  inspectToolCalls(table, walk.events, report);
  if (hasMessages && firstTurn === 0) report("no-assistant-turn", undefined, list);
  if (hasMessages && promptEnd === 0 && lacksPrompt(table, list, walk)) report("no-prompt", undefined, list);
  facts.metricNames = noMetrics;
  if (kinds.metrics === Kind.object) inspectMetrics(table, shape.at(table, slots.metrics), facts, report);
  if (kinds.metadata === Kind.object) inspectMetadata(table, shape.at(table, slots.metadata), report);
  if (kinds.logs === Kind.array)
    checkElements(table, shape.at(table, slots.logs), { kind: Kind.string, element: "log" }, report);
  facts.steps = derived.hasStep ? hashSteps(table, node) : 0;
  for (let at = 0; at < derived.stepHolders.length; at++) {
    const holder = derived.stepHolders[at];
    if (holder) facts.steps += hashSteps(table, shape.at(table, slots[holder]));
  }
  facts.reward = reward;
  facts.training = hasMessages ? findTraining(walk, kinds.tools === Kind.array) : 0;
  if (kinds.start_time === Kind.string)
    facts.training |= hasOffset(table, json.endOf(table, shape.at(table, slots.start_time)))
      ? trainingBits.offset
      : 2 * trainingBits.offset;
  return walk;
};

/** Returns a sum of `trainingBits`. */
const findTraining = (
  { choices, choicesWithLogprobs, hasAssistantTurn, callsTools }: MessageWalk,
  hasTools: boolean,
): number =>
  (choices > 0 ? trainingBits.choice : hasAssistantTurn ? 2 * trainingBits.choice : 0) |
  (choicesWithLogprobs > 0 ? trainingBits.logprobs : 0) |
  (choicesWithLogprobs < choices ? 2 * trainingBits.logprobs : 0) |
  (hasTools ? trainingBits.tools : callsTools ? 2 * trainingBits.tools : 0);

/** Reads the reward and the metrics of a trajectory without type faults. */
export const readRewardAndMetrics = (table: JsonTable, node: number, facts: TrajectoryFacts) => {
  const { kinds } = shape.read(table, node);
  facts.reward = json.readNumber(table, shape.at(table, slots.reward));
  facts.metricNames = noMetrics;
  if (kinds.metrics === Kind.object) inspectMetrics(table, shape.at(table, slots.metrics), facts, () => undefined);
};

/** Expects a shape that has read an object. */
const reportRepeatedKeys = (
  table: JsonTable,
  own: Pick<Shape<string, unknown>, "duplicates" | "slots" | "at">,
  report: RuleReporter,
) => {
  for (const key of own.duplicates) report("duplicate-key", { key }, own.at(table, own.slots[key] ?? 0));
};

const inspectTools = (table: JsonTable, list: number, report: RuleReporter) => {
  const reportAbsent = (name: string, node: number) =>
    report("element-type", { element: "tool", name, found: "absent" }, node);
  const end = json.nodeAfter(table, list);
  for (let tool = list + nodeSize; tool < end; tool = json.nodeAfter(table, tool)) {
    const { kinds } = toolType.shape.read(table, tool);
    reportRepeatedKeys(table, toolType.shape, report);
    const functionNode = toolType.shape.at(table, toolType.shape.slots.function);
    if (kinds.type !== Kind.string) reportAbsent("type", tool);
    if (functionType.shape.read(table, functionNode).kinds.name !== Kind.string)
      reportAbsent("function.name", functionNode);
    reportRepeatedKeys(table, functionType.shape, report);
  }
};

const inspectHistories = (table: JsonTable, list: number, report: RuleReporter) => {
  checkElements(table, list, { kind: Kind.object, element: "history" }, report);
  const end = json.nodeAfter(table, list);
  for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) {
    if (kindAt(table, node) !== Kind.object) continue;
    const messagesNode = json.findMemberNode(table, node, "messages_and_choices") ?? 0;
    if (kindOf(table, messagesNode) === Kind.array) walkMessages(table, messagesNode, report);
    else report("element-type", { element: "history", found: "an object without it" }, node);
  }
};

const isNested = (table: JsonTable, node: number) => (kindAt(table, node) & (Kind.object | Kind.array)) !== 0;

/** Metadata has no cached shape, because its keys often differ from trajectory to trajectory. */
const hasNestedMember = (table: JsonTable, object: number) => {
  const end = json.nodeAfter(table, object);
  let value = object + 2 * nodeSize;
  while (value < end && !isNested(table, value)) value = json.nodeAfter(table, value) + nodeSize;
  return value < end;
};

const inspectMetadata = (table: JsonTable, object: number, report: RuleReporter) => {
  if (!hasNestedMember(table, object)) return;
  for (const [name, node] of mapMembers(table, object)) {
    if (!isNested(table, node)) continue;
    const found = describeValue(table, node);
    report("element-type", { element: "metadata", name: shortenName(name), found }, node);
  }
};

const metricsShape = new Shape([], ({ list }) => {
  const members = list();
  const names = members.map(({ key }) => key);
  const areMetrics = members.every(({ key, kind }) => (kind & metricKinds) !== 0 && !isCalculated(key));
  return areMetrics && new Set(names).size === names.length ? names : undefined;
});

const metricKinds = Kind.number | Kind.boolean;

const inspectMetrics = (table: JsonTable, object: number, facts: TrajectoryFacts, report: RuleReporter) => {
  const names = metricsShape.read(table, object);
  if (names) {
    if (names.length > facts.metrics.length) facts.metrics = new Float64Array(2 * names.length);
    let areFinite = true;
    for (let at = 0; at < names.length; at++) {
      const value = readMetric(table, object + 2 * nodeSize * (at + 1)) ?? 0;
      facts.metrics[at] = value;
      areFinite &&= Number.isFinite(value);
    }
    facts.metricNames = names;
    if (areFinite) return;
  }
  const metricNames: string[] = [];
  const members = mapMembers(table, object);
  if (members.size > facts.metrics.length) facts.metrics = new Float64Array(2 * members.size);
  for (const [name, node] of members) {
    const value = readMetric(table, node);
    const key = shortenName(name);
    if (value === undefined)
      report("element-type", { element: "metric", name: key, found: describeValue(table, node) }, node);
    else if (isCalculated(name)) report("metric-name", { key: name }, node);
    else if (!Number.isFinite(value)) report("metric-not-finite", { key }, node);
    else facts.metrics[metricNames.push(name) - 1] = value;
  }
  facts.metricNames = metricNames;
};

const letterT = 0x74;

const readMetric = (table: JsonTable, node: number) => {
  const kind = kindOf(table, node);
  if (kind === Kind.number) return json.readNumber(table, node);
  return kind === Kind.boolean ? Number(json.firstByteAt(table, node) === letterT) : undefined;
};
