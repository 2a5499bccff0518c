/** Looks at what a training run learns from a trajectory: who speaks in it, what its tools answered, whose policy it is of. */

import type { Trajectory } from "../../../contract/log.ts";
import { isObject, type JsonObject } from "../../../json/walk.ts";
import { nearest } from "../../../nearest.ts";
import type { Path } from "../../rules/places.ts";
import { longestName, type Report, shortName } from "../../rules/values.ts";

/** Reports what costs a training run its signal, in a trajectory that has the interface's types. */
export const inspectSignals = (trajectory: Trajectory, report: Report): void => {
  const { initial_policy_version: initial, final_policy_version: final, start_time: start } = trajectory;
  inspectTurns(trajectory, report);
  if (typeof initial === "number" && typeof final === "number" && final < initial) {
    report("policy-order", { initial, final }, ["final_policy_version"]);
  }
  if (typeof start === "string" && lacksZone(start)) {
    report("start-time-zone", { found: start.slice(0, 40) }, ["start_time"]);
  }
};

/** Whether a text begins as a date and names no zone. */
const lacksZone = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d/.test(text) && !/(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(text.slice(10));

/** A call of a tool that waits for its result. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly path: Path;
}

const inspectTurns = ({ messages_and_choices: messages, tools }: Trajectory, report: Report): void => {
  let hasAssistant = false;
  let waiting: Call[] | undefined;
  for (let at = 0; at < messages.length; at++) {
    const entry = messages[at];
    if (!isObject(entry)) continue;
    const inChoice = entry.role === undefined && isObject(entry.message);
    const message = inChoice ? entry.message : entry;
    if (!isObject(message)) continue;
    if (inChoice || message.role === "assistant") hasAssistant = true;
    if (message.role === "tool") waiting = waiting?.filter(({ id }) => id !== message.tool_call_id);
    if (!Array.isArray(message.tool_calls)) continue;
    const calls = callsOf(message.tool_calls, inChoice ? [at, "message"] : [at]);
    inspectNames(calls, { tools, report });
    // What the last message calls may end the trajectory.
    if (at < messages.length - 1) waiting = [...(waiting ?? []), ...calls.filter(({ id }) => id !== "")];
  }
  if (!hasAssistant) report("no-assistant", undefined, ["messages_and_choices"]);
  for (const { name, path } of waiting ?? []) report("tool-call-unanswered", { name: shortName(name) }, path);
};

const callsOf = (calls: readonly unknown[], base: Path): readonly Call[] =>
  calls.flatMap((call, at) => {
    if (!isObject(call)) return [];
    const id = typeof call.id === "string" ? call.id : "";
    return [{ id, name: nameOf(call), path: ["messages_and_choices", ...base, "tool_calls", at] }];
  });

const nameOf = (call: JsonObject): string =>
  isObject(call.function) && typeof call.function.name === "string" ? call.function.name : "";

const inspectNames = (
  calls: readonly Call[],
  { tools, report }: { readonly tools: Trajectory["tools"]; readonly report: Report },
): void => {
  if (tools === undefined || tools === null || tools.length === 0) return;
  for (const { name, path } of calls) {
    if (name === "" || tools.some((tool) => tool.function.name === name)) continue;
    const listed = tools.map((tool) => tool.function.name);
    const suggestion = nearest(name.slice(0, longestName), listed);
    report("tool-unlisted", { name: shortName(name), suggestion }, [...path, "function", "name"]);
  }
};
