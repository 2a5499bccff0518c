/** Goes over a trajectory: the types of its fields (interface 2.1), what is unusual in it, and what the metrics need of it. */
import { isDateTime } from "../contract/date-time.ts";
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
import {
  afterOf,
  factOf,
  firstOf,
  nodeOfKey,
  numberAt,
  numbersIn,
  type Place,
  type Tabled,
  textOf,
} from "../json/table.ts";
import { inspectMessages } from "./messages.ts";
import { shortName } from "./rules/places.ts";
import { describe, Kind, kindAt, kindOf, kindsAlone, Shape } from "./shape.ts";
import {
  anything,
  type Check,
  checkElements,
  perhaps,
  type Report,
  reportWrongType,
  required,
  typeOf,
} from "./types.ts";

const noNames: readonly string[] = [];

/**
 * Facts of a trajectory that was not read yet. What can be any number begins as one that is not whole: V8 compiles again
 * what uses an object, or an array, whose numbers stop being whole.
 */
export const newFacts = () => ({
  /** Where it is in its table. */
  node: 0,
  reward: Number.NaN,
  /** The newest policy version in it; NaN if it names none. */
  version: Number.NaN,
  /** What it has to train on, and what it lacks, in bits (groups/metrics/metrics.ts). */
  training: 0,
  /** Its metrics that have a mean: their names, and in that order their values. */
  names: noNames,
  metrics: [Number.NaN],
  /** What its messages come to. */
  turns: 0,
  characters: 0,
  choices: 0,
  scored: 0,
  speaks: false,
  callsTools: false,
});

export type TrajectoryFacts = ReturnType<typeof newFacts>;

const string = perhaps(Kind.string);
const functionType = typeOf(
  { name: string, description: string, parameters: perhaps(Kind.object), strict: perhaps(Kind.boolean) },
  kindsAlone,
);

/** A tool that was offered to the model. Assumed: all but the function may be absent. */
const toolType = typeOf({ type: string, function: required(Kind.object, functionType.check) }, kindsAlone);

const tools = { kind: Kind.object, of: { field: "tools" } } as const;

const checkTools: Check = (text, list, report) => {
  let fits = checkElements(text, list, tools, report);
  const end = afterOf(text, list);
  for (let tool = list + nodeSize; tool < end; tool = afterOf(text, tool)) {
    if (kindAt(text, tool) === Kind.object && !toolType.check(text, tool, report)) fits = false;
  }
  return fits;
};

const version = (field: string) => {
  const wanted = "a whole number";
  // Of any size: above 2^53 its digits are kept by whoever passes its bytes on.
  const check: Check = (text, node, report) =>
    Number.isInteger(numberAt(text, node)) || reportWrongType(text, { node, field, wanted }, report);
  return { ...perhaps(Kind.number, check), wanted };
};

const checkStart: Check = (text, node, report) => {
  const fits = isDateTime(textOf(text, node));
  if (!fits) report("start-time-invalid", undefined, node);
  return fits;
};

/** Keys by which trajectories tell that they failed, although only a group's are counted. */
const exceptionKeys = ["exception", "exceptions"] as const;

/**
 * A recorded trajectory. Assumed: the messages and the reward are required, every other field may be absent or null:
 * services differ in whether they take null.
 */
const trajectoryType = typeOf(
  {
    messages_and_choices: required(Kind.array),
    tools: perhaps(Kind.array, checkTools),
    additional_histories: perhaps(Kind.array),
    reward: required(Kind.number),
    initial_policy_version: version("initial_policy_version"),
    final_policy_version: version("final_policy_version"),
    metrics: perhaps(Kind.object),
    metadata: perhaps(Kind.object),
    logs: perhaps(Kind.array),
    start_time: perhaps(Kind.string, checkStart),
    exception: anything,
    exceptions: anything,
  },
  (kinds, text, object) => ({
    mayHaveFailed: exceptionKeys.some((key) => kinds[key] !== Kind.absent),
    isNested: kinds.metadata === Kind.object && nestedIn(text, nodeOfKey(text, object, "metadata") ?? 0).length > 0,
    hasVersions: (kinds.initial_policy_version & kinds.final_policy_version) === Kind.number,
  }),
);
const { shape } = trajectoryType;
const { slots } = shape;

/** Checks the types of a trajectory's fields; true if they are right. */
export const checkTypes = trajectoryType.check;

/** True if a value has the types of a trajectory. */
export const isTrajectory = ({ text, node }: Place): boolean =>
  kindAt(text, node) === Kind.object && checkTypes(text, node, () => undefined);

/** The fields of a trajectory that the interface knows. */
export const trajectoryFields: readonly string[] = shape.names.filter((name) => !/^exceptions?$/.test(name));

/** Reports what is unusual in a trajectory that has the types; says what is known of it. */
export const inspectTrajectory = (text: Tabled, node: number, facts: TrajectoryFacts, report: Report): void => {
  const { kinds, nulls, more } = shape.read(text, node);
  const reward = shape.at(text, slots.reward);
  facts.node = node;
  facts.reward = numberAt(text, reward);
  for (const field of nulls) report("null-field", { field }, shape.at(text, slots[field]));
  if (!Number.isFinite(facts.reward)) report("reward-not-finite", undefined, reward);
  if (more.mayHaveFailed) inspectExceptions(text, report);
  const listed = kinds.tools === Kind.array ? inspectTools(text, shape.at(text, slots.tools), report) : undefined;
  inspectMessages(text, { list: shape.at(text, slots.messages_and_choices), listed, turns: facts }, report);
  if (kinds.additional_histories === Kind.array) {
    inspectHistories(text, shape.at(text, slots.additional_histories), report);
  }
  facts.names = noNames;
  if (kinds.metrics === Kind.object) inspectMetrics(text, shape.at(text, slots.metrics), facts, report);
  if (more.isNested) inspectMetadata(text, shape.at(text, slots.metadata), report);
  if (kinds.logs === Kind.array) checkElements(text, shape.at(text, slots.logs), logs, report);
  facts.version = versionOf(text);
  if (more.hasVersions) {
    const [initial, final] = [numberAt(text, shape.at(text, slots.initial_policy_version)), facts.version];
    if (final < initial)
      report("policy-versions-reversed", { initial, final }, shape.at(text, slots.final_policy_version));
  }
  if (kinds.start_time === Kind.string) inspectStart(text, shape.at(text, slots.start_time), report);
  const { choices, scored, speaks, callsTools } = facts;
  facts.training =
    (choices > 0 ? withChoice : speaks ? withoutChoice : 0) |
    (scored > 0 ? withLogprobs : 0) |
    (scored < choices ? withoutLogprobs : 0) |
    (kinds.tools === Kind.array ? withTools : callsTools ? withoutTools : 0);
};

/** The newest policy version of the trajectory that was read; NaN if it names none. */
const versionOf = (text: Tabled): number => {
  for (const slot of [slots.final_policy_version, slots.initial_policy_version]) {
    const node = shape.at(text, slot);
    if (kindOf(text, node) === Kind.number) return numberAt(text, node);
  }
  return Number.NaN;
};

const inspectExceptions = (text: Tabled, report: Report): void => {
  for (const key of exceptionKeys) {
    const value = shape.at(text, slots[key]);
    if (value > 0 && isException(text, value)) report("exception-in-trajectory", { key }, value);
  }
};

/** True if a value says that something failed: null, an empty text and an empty list do not. */
const isException = (text: Tabled, node: number): boolean => {
  const kind = kindOf(text, node);
  if (kind === Kind.string) return factOf(text, node) > 0;
  if (kind === Kind.array) return numbersIn(text, node) > 0 || afterOf(text, node) > node + nodeSize;
  return kind === Kind.object || firstOf(text, node) === letterT;
};

const letterT = 0x74;

/** Gives the names of the tools; undefined if one has no name. */
const inspectTools = (text: Tabled, list: number, report: Report): ReadonlySet<string> | undefined => {
  const names = new Set<string>();
  let areNamed = true;
  const end = afterOf(text, list);
  for (let tool = list + nodeSize; tool < end; tool = afterOf(text, tool)) {
    const { kinds } = toolType.shape.read(text, tool);
    const own = toolType.shape.at(text, toolType.shape.slots.function);
    if (kinds.type !== Kind.string) report("tool-incomplete", { field: "type" }, tool);
    const isNamed = functionType.shape.read(text, own).kinds.name === Kind.string;
    if (isNamed) names.add(textOf(text, functionType.shape.at(text, functionType.shape.slots.name)));
    else report("tool-incomplete", { field: "function.name" }, own);
    areNamed &&= isNamed;
  }
  return areNamed ? names : undefined;
};

const historyShape = new Shape(["messages_and_choices"], kindsAlone);

const histories = { kind: Kind.object, of: { rule: "history-type" } } as const;

const inspectHistories = (text: Tabled, list: number, report: Report): void => {
  checkElements(text, list, histories, report);
  const end = afterOf(text, list);
  for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
    if (kindAt(text, node) !== Kind.object) continue;
    const { messages_and_choices: kind } = historyShape.read(text, node);
    if (kind === Kind.array) inspectMessages(text, { list: historyShape.at(text, 1) }, report);
    else report("history-type", { found: describe(text, node) }, node);
  }
};

const logs = { kind: Kind.string, of: { rule: "log-type" } } as const;

const membersOf = (text: Tabled, object: number): ReadonlyMap<string, number> => {
  const members = new Map<string, number>();
  const end = afterOf(text, object);
  for (let key = object + nodeSize; key < end; key = afterOf(text, key + nodeSize)) {
    members.set(textOf(text, key), key + nodeSize);
  }
  return members;
};

const nestedIn = (text: Tabled, object: number): readonly (readonly [string, number])[] =>
  Array.from(membersOf(text, object)).filter(([, node]) => (kindOf(text, node) & (Kind.object | Kind.array)) !== 0);

const inspectMetadata = (text: Tabled, object: number, report: Report): void => {
  for (const [name, node] of nestedIn(text, object)) {
    report("metadata-nested", { key: shortName(name), found: describe(text, node) }, node);
  }
};

/** The names of metrics all of which have a mean, if they are finite; undefined if any has none. */
const metricsShape = new Shape([], (_, text, object): readonly string[] | undefined => {
  const members = membersOf(text, object);
  const isEach = members.size === (afterOf(text, object) - object - nodeSize) / (2 * nodeSize);
  const areMetrics = Array.from(members).every(([name, node]) => mayHaveMean(name, metricAt(text, node)));
  return isEach && areMetrics ? [...members.keys()] : undefined;
});

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
  const own: string[] = [];
  for (const [name, node] of membersOf(text, object)) {
    const value = metricAt(text, node);
    const key = shortName(name);
    if (value === undefined) report("metric-type", { key, found: describe(text, node) }, node);
    else if (isCalculated(name)) report("metric-name", { key: name }, node);
    else if (!Number.isFinite(value)) report("metric-not-finite", { key }, node);
    else facts.metrics[own.push(name) - 1] = value;
  }
  facts.names = own;
};

const mayHaveMean = (name: string, value: number | undefined): boolean => value !== undefined && !isCalculated(name);

const metricAt = (text: Tabled, node: number): number | undefined => {
  const kind = kindOf(text, node);
  if (kind === Kind.number) return numberAt(text, node);
  return kind === Kind.boolean ? Number(firstOf(text, node) === letterT) : undefined;
};

const inspectStart = (text: Tabled, node: number, report: Report): void => {
  const start = textOf(text, node);
  const isZoned = /(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(start.slice("2025-11-01".length));
  if (!isZoned) report("missing-utc-offset", { found: shortName(start) }, node);
};
