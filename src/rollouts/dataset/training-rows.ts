/** Composes rows for fine-tuning from groups (docs/guide/fine-tuning.md). */

import { sliceText } from "../../json/json-bytes.ts";
import { composeArray, composeObject } from "../../json/raw-json.ts";
import { nodeSize } from "../../json/reader.ts";
import { Kind, kindAt } from "../../json/shape.ts";
import * as json from "../../json/table.ts";
import { listByKey } from "../../text/lists.ts";
import { findChoiceMessage, isFilled, lacksPrompt } from "../check/messages.ts";
import { inspectTrajectory } from "../check/trajectory.ts";
import { formatCanonically, formatContent, openPromptReader } from "../check/trajectory-prompt.ts";
import { NumberColumn } from "../index/column.ts";
import { rewardTolerance } from "../index/metrics.ts";
import { TrajectoryFacts } from "../index/trajectory-facts.ts";
import { shortenName } from "../rules/positions.ts";
import { isMediaColumn } from "../rules/row-columns.ts";
import { listTrajectories } from "./group-bytes.ts";

/** The reasons why a trajectory (`messages`) or a group (`preferences`) has no row. */
const noReasons = {
  no_assistant_turn: 0,
  no_answer: 0,
  function_call: 0,
  unknown_key: 0,
  unknown_prompt: 0,
  under_two_trajectories: 0,
  different_prompts: 0,
  equal_rewards: 0,
  equal_answers: 0,
};

const maxOmittedKeys = 1000;

type Reason = keyof typeof noReasons;

type Row = Readonly<{ rollouts: readonly [Rollout, Rollout?]; text: string; omittedKeys: readonly string[] }>;

export class TrainingRows {
  readonly to: "messages" | "preferences";
  written = 0;
  /** The number of rows with a trajectory whose last choice was cut off. */
  truncated = 0;
  /** The number of trajectories with additional histories, which no row has. */
  withHistories = 0;
  /** The number of trajectories in rows with messages after the last sampled turn, which no row has. */
  cut = 0;
  /** The number of values in rows' messages that no row has, by key. */
  readonly omittedKeys = new Map<string, number>();
  readonly withoutRow = { ...noReasons };
  /** Three numbers for each row: the group, and the positions of its trajectories in the group. */
  readonly #places = new NumberColumn();

  constructor(to: TrainingRows["to"]) {
    this.to = to;
  }

  /** Yields the lines of the rows of a valid group. @param line the group in rollcall's format */
  *compose(line: Buffer, group: number): Generator<Buffer, void> {
    const rollouts = listTrajectories(line, { kind: "group" }).map(readRollout);
    if (this.to === "preferences") yield* this.#add(composePreference(rollouts), group);
    else for (const rollout of rollouts) yield* this.#add(composeMessages(rollout), group);
  }

  /** Lists the rows. */
  *listRows() {
    for (let row = 0; row < this.written; row++) {
      const [group = 0, first = 0, second = 0] = this.#places.values(3 * row, 3 * row + 3);
      const at = { row: row + 1, group: group + 1 };
      if (this.to === "messages") yield { ...at, trajectory: first + 1 };
      else yield { ...at, chosen: first + 1, rejected: second + 1 };
    }
  }

  /** Counts the trajectories or groups without a row, and what rows do not contain. */
  listOmitted() {
    const { withoutRow, cut, withHistories, omittedKeys } = this;
    const reasons = { ...withoutRow, after_last_sampled_turn: cut, additional_histories: withHistories };
    const counts = Object.entries(reasons).map(([reason, count]) => ({ reason, count }));
    const keys = Array.from(omittedKeys, ([key, count]) => ({ path: `messages[].${key}`, count }));
    return [...counts.filter(({ count }) => count > 0), ...keys];
  }

  *#add(row: Row | Reason, group: number) {
    if (typeof row === "string") return void this.withoutRow[row]++;
    const { rollouts, text, omittedKeys } = row;
    const [first, second] = rollouts;
    this.written++;
    if (rollouts.some((rollout) => rollout?.isTruncated)) this.truncated++;
    this.withHistories += rollouts.filter((rollout) => rollout?.hasHistories).length;
    this.cut += rollouts.filter((rollout) => rollout?.isCut).length;
    for (const key of omittedKeys) {
      const count = this.omittedKeys.get(key) ?? 0;
      if (count > 0 || this.omittedKeys.size < maxOmittedKeys) this.omittedKeys.set(key, count + 1);
    }
    for (const place of [group, first.position, second?.position ?? 0]) this.#places.push(place);
    yield Buffer.from(`${text}\n`);
  }
}

type Rollout = ReturnType<typeof readRollout>;

const readRollout = (trajectory: json.JsonValue, position: number) => {
  const { table, node } = trajectory;
  const facts = new TrajectoryFacts();
  let hasUnknownKey = false;
  inspectTrajectory(table, node, facts, (rule) => {
    hasUnknownKey ||= rule === "unknown-message-key";
  });
  const entries = json.elementsOf({ table, node: facts.list });
  const offered = json.memberAt(trajectory, "tools");
  const tools = json.elementsOf(offered).length > 0 ? offered : undefined;
  const isSampled = (entry: json.JsonValue) =>
    facts.choices > 0 ? entry.node === facts.lastChoice : readText(entry, "role") === "assistant";
  const end = entries.findLastIndex(isSampled) + 1;
  const messages = entries.slice(0, end).map((entry) => findChoiceMessage(entry) ?? entry);
  // A number, such as a count of `frames`, is not media.
  const mediaKinds = Kind.string | Kind.array | Kind.object;
  const media = [...json.childrenOf(trajectory)].filter(
    ([name, value]) => isMediaColumn(String(name)) && (kindAt(value.table, value.node) & mediaKinds) !== 0,
  );
  return {
    position,
    table,
    messages,
    prompt: messages.filter((_, at) => (entries[at]?.node ?? 0) < facts.firstTurn).length,
    facts,
    hasUnknownKey,
    tools,
    media: Object.fromEntries(media.map(([name, value]) => [name, json.textOf(value)])),
    reward: facts.reward,
    isTruncated: facts.cutNode > 0,
    isCut: end < entries.length,
    hasHistories: json.elementsOf(json.memberAt(trajectory, "additional_histories")).length > 0,
  };
};

const readText = (object: json.JsonValue, key: string) => {
  const value = json.memberAt(object, key);
  return value && kindAt(value.table, value.node) === Kind.string
    ? json.readString(value.table, value.node)
    : undefined;
};

/** Returns why a rollout has no row; undefined if it has one. */
const findFault = ({ messages, table, facts, hasUnknownKey }: Rollout, needsTask: boolean): Reason | undefined => {
  const last = messages.at(-1);
  if (!last) return "no_assistant_turn";
  if (facts.promptEnd === 0 && (needsTask || lacksPrompt(table, facts.list, facts))) return "unknown_prompt";
  if (messages.some((message) => isPresent(json.memberAt(message, "function_call")))) return "function_call";
  if (hasUnknownKey) return "unknown_key";
  return hasAnswer(last) ? undefined : "no_answer";
};

const isPresent = (value: json.JsonValue | undefined) =>
  value !== undefined && kindAt(value.table, value.node) !== Kind.null;

/** Parts that answer without a text. Other parts, such as reasoning and unknown ones, are not an answer. */
const mediaParts = /^(?:(?:input_|output_)?(?:image|audio)|image_url|tool_use)$/;
const textParts = /^(?:(?:output_)?text|refusal)$/;

/** White space and reasoning are not an answer. */
const hasAnswer = (message: json.JsonValue) => {
  const content = json.memberAt(message, "content");
  const isSaid = (text: string | undefined) => text !== undefined && text.trim() !== "";
  const hasPart = json.elementsOf(content).some((part) => {
    const type = readText(part, "type") ?? "text";
    return (
      mediaParts.test(type) || (textParts.test(type) && ["text", "refusal"].some((key) => isSaid(readText(part, key))))
    );
  });
  const calls = json.elementsOf(json.memberAt(message, "tool_calls"));
  return calls.length > 0 || hasPart || isSaid(readText(message, "content")) || isSaid(readText(message, "refusal"));
};

/** The keys that trainers and services know. */
const keys = ["role", "tool_calls", "tool_call_id", "name", "reasoning_content", "refusal", "weight"];

/** Readers refuse nulls, except of `content`, and an empty list of calls. @param omitted gets the keys of no row */
const composeMessage = ({ table, node }: json.JsonValue, omitted: string[]) => {
  const members = [...json.childrenOf({ table, node })];
  const kept = members.filter(([key, value]) => {
    if (key === "content") return true;
    const isUsed = kindAt(table, value.node) === Kind.string || isFilled(table, value.node);
    const isKnown = keys.includes(String(key));
    if (isUsed && !isKnown) omitted.push(shortenName(String(key)));
    return isUsed && isKnown;
  });
  if (kept.length === members.length) return json.textOf({ table, node });
  const texts = kept.map(([, value]) => {
    const start = json.startOf(table, value.node - nodeSize);
    return sliceText(table.bytes, { start, end: json.endOf(table, value.node) });
  });
  return `{${texts.join(",")}}`;
};

const composeList = (messages: readonly json.JsonValue[], omitted: string[]) =>
  composeArray(messages.map((message) => composeMessage(message, omitted)));

const composeMessages = (rollout: Rollout): Row | Reason => {
  const fault = findFault(rollout, false);
  if (fault) return fault;
  const omittedKeys: string[] = [];
  const messages = composeList(rollout.messages, omittedKeys);
  return {
    rollouts: [rollout],
    text: composeObject({ messages, tools: rollout.tools && json.textOf(rollout.tools), ...rollout.media }),
    omittedKeys,
  };
};

const composePreference = (rollouts: readonly Rollout[]): Row | Reason => {
  if (rollouts.length < 2) return "under_two_trajectories";
  const faults = rollouts.map((rollout) => findFault(rollout, true));
  const tasks = groupByTask(rollouts.filter((_, at) => !faults[at]));
  if (tasks.length === 0) return faults.find((fault) => fault !== undefined) ?? "different_prompts";
  const pairs = tasks.map(choosePair).filter(({ distance }) => distance > rewardTolerance);
  if (pairs.length === 0) return "equal_rewards";
  const rows = pairs.filter(({ chosen, rejected }) => toAnswer(chosen) !== toAnswer(rejected));
  if (!rows[0]) return "equal_answers";
  return composePair(rows.reduce((found, one) => (one.distance > found.distance ? one : found), rows[0]));
};

/** Lists the trajectories that have the same prompt and tools as another trajectory. */
const groupByTask = (rollouts: readonly Rollout[]) => {
  const readPrompt = openPromptReader();
  const taskOf = ({ facts, tools, media, table }: Rollout) =>
    readPrompt(table, facts) + (tools ? formatCanonically(tools) : "") + JSON.stringify(media);
  const tasks = listByKey(rollouts, taskOf);
  return [...tasks.values()].filter(({ length }) => length > 1);
};

/** Of equal rewards, the first one counts. */
const choosePair = (rollouts: readonly Rollout[]) => {
  const chosen = rollouts.reduce((found, one) => (one.reward > found.reward ? one : found));
  const rejected = rollouts.reduce((found, one) => (one.reward < found.reward ? one : found));
  return { chosen, rejected, distance: chosen.reward - rejected.reward };
};

/** Equal answers have equal texts. Each recording has its own ids of calls. */
const toAnswer = ({ messages, prompt }: Rollout) =>
  JSON.stringify(
    messages.slice(prompt).map((message) => [formatMembers(message, answerKeys), ...formatCalls(message)]),
  );

const answerKeys = ["role", "content", "name", "reasoning_content", "refusal"];

/** Arguments are JSON in a text, so white space and the order of keys do not count. */
const formatCalls = (message: json.JsonValue) =>
  json.elementsOf(json.memberAt(message, "tool_calls")).map((call) => {
    const called = json.memberAt(call, "function") ?? call;
    const text = readText(called, "arguments");
    const args = text === undefined ? undefined : json.readRoot(Buffer.from(text));
    const names = args ? ["name"] : ["name", "arguments"];
    return [
      ...formatMembers(call, ["type", "custom"]),
      ...formatMembers(called, names),
      args && formatCanonically(args),
    ];
  });

/** Absent, null and empty are equal. */
const formatMembers = (object: json.JsonValue, names: readonly string[]) =>
  names.map((name) => {
    const value = json.memberAt(object, name);
    const format = name === "content" ? formatContent : formatCanonically;
    const text = value && isPresent(value) ? format(value) : "";
    return text === '""' || text === "[]" ? "" : text;
  });

const composePair = ({ chosen, rejected }: { chosen: Rollout; rejected: Rollout }): Row => {
  const omittedKeys: string[] = [];
  const text = composeObject({
    prompt: composeList(chosen.messages.slice(0, chosen.prompt), omittedKeys),
    chosen: composeList(chosen.messages.slice(chosen.prompt), omittedKeys),
    rejected: composeList(rejected.messages.slice(rejected.prompt), omittedKeys),
    tools: chosen.tools && json.textOf(chosen.tools),
    ...chosen.media,
  });
  return { rollouts: [chosen, rejected], text, omittedKeys };
};
