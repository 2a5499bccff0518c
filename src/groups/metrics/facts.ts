/** What is kept of a trajectory beside its bytes: how long it is, whose policy it is of, and what makes it like no other. */
import type { Trajectory } from "../../contract/log.ts";
import { isObject, type JsonObject, type Span } from "../../json/walk.ts";
import { withChoice, withLogprobs, withoutChoice, withoutLogprobs, withoutTools, withTools } from "./constants.ts";

/** Facts of one trajectory. */
export interface TrajectoryFacts {
  readonly reward: number;
  /** Messages and choices. */
  readonly turns: number;
  /** Characters of their content, and of the arguments of tool calls. */
  readonly characters: number;
  /** The newest policy version in it; NaN where it names none. */
  readonly version: number;
  /** Choices, and those that have logprobs. */
  readonly choices: number;
  readonly scored: number;
  /** What it has to train on, and what it lacks, in bits (constants.ts). */
  readonly training: number;
  /** What most trajectories of other bytes have not (`printOf`). */
  readonly print: number;
}

/** Facts of a trajectory that has the interface's types. */
export const factsOf = (trajectory: Trajectory, print: number): TrajectoryFacts => {
  const { messages_and_choices: messages, reward, initial_policy_version: initial } = trajectory;
  let [characters, choices, scored] = [0, 0, 0];
  let [speaks, calls] = [false, false];
  const take = (text: unknown): void => {
    if (typeof text === "string") characters += text.length;
  };
  for (let at = 0; at < messages.length; at++) {
    const entry = messages[at];
    if (!isObject(entry)) continue;
    const sampled = isChoice(entry);
    const message = sampled ? entry.message : entry;
    if (sampled) choices++;
    if (sampled && hasLogprobs(entry)) scored++;
    speaks ||= message.role === "assistant";
    takeContent(message.content, take);
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
      if (!isObject(call) || !isObject(call.function)) continue;
      take(call.function.arguments);
      calls ||= typeof call.function.name === "string" && call.function.name !== "";
    }
  }
  const training =
    (choices > 0 ? withChoice : speaks ? withoutChoice : 0) |
    (scored > 0 ? withLogprobs : 0) |
    (scored < choices ? withoutLogprobs : 0) |
    (Array.isArray(trajectory.tools) ? withTools : calls ? withoutTools : 0);
  const version = trajectory.final_policy_version ?? initial ?? Number.NaN;
  return { reward, turns: messages.length, characters, choices, scored, training, version, print };
};

/** Whether an element of `messages_and_choices` is a choice: what a model sampled, around its message. */
export const isChoice = (entry: unknown): entry is JsonObject & { readonly message: JsonObject } =>
  isObject(entry) && entry.role === undefined && isObject(entry.message);

/** Whether a choice has logprobs. */
export const hasLogprobs = (choice: JsonObject): boolean => isObject(choice.logprobs);

const takeContent = (content: unknown, take: (text: unknown) => void): void => {
  if (!Array.isArray(content)) take(content);
  else for (const part of content) if (isObject(part)) take(part.text);
};

const factor = 0x9e3779b1;

/** Bytes that are looked at together, as sixteen words. */
const roundBytes = 64;

const lanes = new Int32Array(16);

const mixed = (word: number, other: number): number => {
  const product = Math.imul(word ^ other, factor);
  return product ^ (product >>> 15);
};

/** The same for the same bytes, and hardly ever for others: 32 bits, never 0. */
export const printOf = (bytes: Buffer, { start, end }: Span): number => {
  for (let lane = 0; lane < lanes.length; lane++) lanes[lane] = 1 + (lane >>> 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = start;
  for (; at + roundBytes <= end; at += roundBytes) takeRound(view, at);
  const rest = new Uint8Array(roundBytes);
  rest.set(bytes.subarray(at, end));
  takeRound(new DataView(rest.buffer), 0);
  let print = end - start;
  for (let lane = 0; lane < 4; lane++) print = mixed(print, laneOf(lane));
  return print >>> 0 || 1;
};

const takeRound = (view: DataView, at: number): void => {
  for (let lane = 0; lane < lanes.length; lane++) {
    lanes[lane] = mixed(lanes[lane] ?? 0, view.getInt32(at + 4 * lane, true));
  }
};

/** What four rounds of words make of one place in each. */
const laneOf = (lane: number): number => {
  const [a = 0, b = 0, c = 0, d = 0] = [lanes[lane], lanes[lane + 4], lanes[lane + 8], lanes[lane + 12]];
  return mixed(mixed(mixed(a, b), c), d);
};
