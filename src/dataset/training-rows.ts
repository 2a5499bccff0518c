/** Composes rows for fine-tuning from groups (docs/guide/fine-tuning.md). */
import { formatCanonically, inspectTrajectory, openPromptReader } from "../check/index.ts";
import { NumberColumn } from "../index/column.ts";
import { rewardTolerance } from "../index/metrics.ts";
import { createTrajectoryFacts } from "../index/trajectory-facts.ts";
import { sliceText } from "../json/json-bytes.ts";
import { composeArray, composeObject } from "../json/raw-json.ts";
import { nodeSize } from "../json/reader.ts";
import { Kind, kindAt } from "../json/shape.ts";
import * as json from "../json/table.ts";
import { listTrajectories, parseReward } from "./group-bytes.ts";
import type { Dataset } from "./read-dataset.ts";

/** The reasons why a trajectory (`messages`) or a group (`preferences`) has no row. */
const noReasons = {
  no_assistant_turn: 0,
  under_two_trajectories: 0,
  equal_rewards: 0,
  unknown_prompt: 0,
  different_prompts: 0,
};

type Reason = keyof typeof noReasons;

type Row = Readonly<{ rollouts: readonly [Rollout, Rollout?]; text: string }>;

export class TrainingRows {
  readonly to: "messages" | "preferences";
  written = 0;
  /** The number of rows with a trajectory whose last choice was cut off. */
  truncated = 0;
  /** The number of trajectories with additional histories, which no row has. */
  withHistories = 0;
  readonly withoutRow = { ...noReasons };
  /** Three numbers for each row: the group, and the positions of its trajectories in the group. */
  readonly #places = new NumberColumn("u32");

  constructor(to: TrainingRows["to"]) {
    this.to = to;
  }

  /** Yields the lines of the rows of a valid group. @param line the group in rollcall's format */
  *compose(line: Buffer, group: number): Generator<Buffer, void> {
    const places = listTrajectories(line, { kind: "group" }).map((trajectory, position) => ({ trajectory, position }));
    if (this.to === "preferences") yield* this.#add(composePreference(places), group);
    else for (const place of places) yield* this.#add(composeMessages(place), group);
  }

  /** Lists the rows. Groups and trajectories have their numbers before a selection, like the records of a receipt. */
  *listRows({ originalOf }: Dataset) {
    for (let row = 0; row < this.written; row++) {
      const [group = 0, ...positions] = this.#places.values(3 * row, 3 * row + 3);
      const { group: original, selected } = originalOf?.(group) ?? { group };
      const [first = 0, second = 0] = positions.map((position) => selected?.[position] ?? position);
      const at = { row: row + 1, group: original + 1 };
      if (this.to === "messages") yield { ...at, trajectory: first + 1 };
      else yield { ...at, chosen: first + 1, rejected: second + 1 };
    }
  }

  *#add(row: Row | Reason, group: number) {
    if (typeof row === "string") return void this.withoutRow[row]++;
    const { rollouts, text } = row;
    const [first, second] = rollouts;
    this.written++;
    if (rollouts.some((rollout) => rollout?.isTruncated)) this.truncated++;
    this.withHistories += rollouts.filter((rollout) => rollout?.hasHistories).length;
    for (const place of [group, first.position, second?.position ?? 0]) this.#places.push(place);
    yield Buffer.from(`${text}\n`);
  }
}

type Place = Readonly<{ trajectory: json.JsonValue; position: number }>;

type Rollout = ReturnType<typeof readRollout>;

const readRollout = ({ trajectory, position }: Place) => {
  const { table, node } = trajectory;
  const facts = createTrajectoryFacts();
  inspectTrajectory(table, node, facts, () => undefined);
  const entries = json.elementsOf({ table, node: facts.list });
  const offered = json.memberAt(trajectory, "tools");
  const tools = json.elementsOf(offered).length > 0 ? offered : undefined;
  return {
    position,
    messages: entries.map(composeMessage),
    promptLength: entries.filter((entry) => json.endOf(table, entry.node) <= facts.promptEnd).length,
    tools: tools && sliceText(table.bytes, json.spanOf(tools)),
    /** Returns undefined if the prompt is unknown. */
    findTask: () => {
      const prompt = openPromptReader()(table, facts);
      return prompt && prompt + (tools ? formatCanonically(tools) : "");
    },
    hasTurn: facts.choices > 0 || facts.hasAssistantTurn,
    isTruncated: facts.cutNode > 0,
    hasHistories: json.elementsOf(json.memberAt(trajectory, "additional_histories")).length > 0,
  };
};

/** A choice becomes its message. Readers refuse some null members, so only `content` can be null. */
const composeMessage = (entry: json.JsonValue) => {
  const choice = json.memberAt(entry, "role") ? undefined : json.memberAt(entry, "message");
  const { table, node } = choice ?? entry;
  const members = [...json.childrenOf({ table, node })];
  const kept = members.filter(([key, value]) => key === "content" || kindAt(table, value.node) !== Kind.null);
  if (kept.length === members.length) return sliceText(table.bytes, json.spanOf({ table, node }));
  const texts = kept.map(([, value]) => {
    const start = json.startOf(table, value.node - nodeSize);
    return sliceText(table.bytes, { start, end: json.endOf(table, value.node) });
  });
  return `{${texts.join(",")}}`;
};

const composeMessages = (place: Place): Row | Reason => {
  const rollout = readRollout(place);
  if (!rollout.hasTurn) return "no_assistant_turn";
  const { messages, tools } = rollout;
  return { rollouts: [rollout], text: composeObject({ messages: composeArray(messages), tools }) };
};

const composePreference = (places: readonly Place[]): Row | Reason => {
  if (places.length < 2) return "under_two_trajectories";
  const rated = places.map((place) => ({ ...place, reward: parseReward(place.trajectory) }));
  const best = rated.reduce((found, one) => (one.reward > found.reward ? one : found));
  const worst = rated.reduce((found, one) => (one.reward < found.reward ? one : found));
  if (!(best.reward - worst.reward > rewardTolerance)) return "equal_rewards";
  const [chosen, rejected] = [readRollout(best), readRollout(worst)];
  const [task, otherTask] = [chosen.findTask(), rejected.findTask()];
  if (task === undefined || otherTask === undefined) return "unknown_prompt";
  if (task !== otherTask) return "different_prompts";
  const text = composeObject({
    prompt: composeArray(chosen.messages.slice(0, chosen.promptLength)),
    chosen: composeArray(chosen.messages.slice(chosen.promptLength)),
    rejected: composeArray(rejected.messages.slice(rejected.promptLength)),
    tools: chosen.tools,
  });
  return { rollouts: [chosen, rejected], text };
};
