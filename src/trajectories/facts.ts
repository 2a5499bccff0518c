/** What is kept of a trajectory beside its bytes: how long it is, whose policy it is of, and what makes it like no other. */
import { isAscii as bytesAreAscii } from "node:buffer";
import type { Trajectory } from "../contract/log.ts";
import { isObject } from "./values.ts";

/** Facts of one trajectory. */
export interface TrajectoryFacts {
  /** Messages and choices. */
  readonly turns: number;
  /** Characters of their content, and of the arguments of tool calls. */
  readonly characters: number;
  /** The newest policy version in it; NaN where it names none. */
  readonly version: number;
  /** The same for trajectories of the same bytes, and hardly ever for others: 32 bits, never 0. */
  readonly print: number;
}

/** How the text of a trajectory was read: decoded, or its bytes as characters. */
export type Reading = "decoded" | "ascii" | "bytes";

/** How the bytes of a range are read as characters. */
export const readingOf = (bytes: Buffer): Reading => (bytesAreAscii(bytes) ? "ascii" : "bytes");

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);

const mixed = (print: number, word: number): number => {
  const next = Math.imul(print ^ word, 0x9e3779b1);
  return next ^ (next >>> 15);
};

const mixedDouble = (print: number, value: number): number => {
  double[0] = value;
  return mixed(mixed(print, words[0] ?? 0), words[1] ?? 0);
};

/** Facts of a trajectory that has the interface's types. */
export const factsOf = (trajectory: Trajectory, reading: Reading): TrajectoryFacts => {
  const { messages_and_choices: messages, initial_policy_version: initial, final_policy_version: final } = trajectory;
  let print = mixedDouble(messages.length, trajectory.reward);
  let characters = 0;
  const take = (text: unknown): void => {
    if (typeof text !== "string") return;
    characters += reading === "bytes" ? charactersOf(text) : text.length;
    print = mixed(print, reading === "decoded" ? Buffer.byteLength(text) : text.length);
    print = mixed(print, edgeOf(text.charCodeAt(0)) * 256 + edgeOf(text.charCodeAt(text.length - 1)));
  };
  for (let at = 0; at < messages.length; at++) {
    const entry = messages[at];
    if (!isObject(entry)) continue;
    const message = entry.role === undefined && isObject(entry.message) ? entry.message : entry;
    takeContent(message.content, take);
    if (Array.isArray(message.tool_calls)) for (const call of message.tool_calls) takeArguments(call, take);
  }
  const { metrics } = trajectory;
  if (metrics !== undefined && metrics !== null) {
    for (const key of Object.keys(metrics)) print = mixedDouble(print, Number(metrics[key]));
  }
  return { turns: messages.length, characters, version: final ?? initial ?? Number.NaN, print: print >>> 0 || 1 };
};

const takeContent = (content: unknown, take: (text: unknown) => void): void => {
  if (!Array.isArray(content)) take(content);
  else for (const part of content) if (isObject(part)) take(part.text);
};

const takeArguments = (call: unknown, take: (text: unknown) => void): void => {
  if (isObject(call) && isObject(call.function)) take(call.function.arguments);
};

/** A character that is the same however bytes are read. */
const edgeOf = (unit: number): number => (unit < 0x80 ? unit : 0x80);

/** Characters of UTF-8 whose bytes were read as characters: those that do not go on with one. */
const charactersOf = (text: string): number => {
  let count = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80 && unit < 0xc0) count--;
  }
  return count;
};
