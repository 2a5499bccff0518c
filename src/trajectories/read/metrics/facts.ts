/** What is kept of a trajectory beside its bytes: how long it is, whose policy it is of, and what makes it like no other. */

import type { Trajectory } from "../../../contract/log.ts";
import { isObject } from "../../../json/walk.ts";

/** Facts of one trajectory. */
export interface TrajectoryFacts {
  readonly reward: number;
  /** Messages and choices. */
  readonly turns: number;
  /** Characters of their content, and of the arguments of tool calls. */
  readonly characters: number;
  /** The newest policy version in it; NaN where it names none. */
  readonly version: number;
  /** What most trajectories of other bytes have not (print.ts). */
  readonly print: number;
}

/** Facts of a trajectory that has the interface's types. */
export const factsOf = (trajectory: Trajectory, print: number): TrajectoryFacts => {
  const { messages_and_choices: messages, reward, initial_policy_version: initial } = trajectory;
  let characters = 0;
  const take = (text: unknown): void => {
    if (typeof text === "string") characters += text.length;
  };
  for (let at = 0; at < messages.length; at++) {
    const entry = messages[at];
    if (!isObject(entry)) continue;
    const message = entry.role === undefined && isObject(entry.message) ? entry.message : entry;
    takeContent(message.content, take);
    if (Array.isArray(message.tool_calls)) for (const call of message.tool_calls) takeArguments(call, take);
  }
  const version = trajectory.final_policy_version ?? initial ?? Number.NaN;
  return { reward, turns: messages.length, characters, version, print };
};

const takeContent = (content: unknown, take: (text: unknown) => void): void => {
  if (!Array.isArray(content)) take(content);
  else for (const part of content) if (isObject(part)) take(part.text);
};

const takeArguments = (call: unknown, take: (text: unknown) => void): void => {
  if (isObject(call) && isObject(call.function)) take(call.function.arguments);
};
