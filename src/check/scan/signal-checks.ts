/** Looks at what a training run learns from a trajectory: who speaks in it, what its tools answered, whose policy it is of. */

import type { Trajectory } from "../../contract/log.ts";
import { isChoice } from "../../groups/metrics/facts.ts";
import { isObject, type JsonObject } from "../../json/walk.ts";
import { nearest, nearestAmong } from "../../nearest.ts";
import type { Path } from "../rules/places.ts";
import { longestName, type Report, shortName } from "../rules/values.ts";

/** Reports what costs a training run its signal, in a trajectory that has the interface's types. */
export const inspectSignals = (trajectory: Trajectory, report: Report): void => {
  const { initial_policy_version: initial, final_policy_version: final, start_time: start } = trajectory;
  inspectTurns(trajectory, report);
  if (typeof initial === "number" && typeof final === "number" && final < initial) {
    report("policy-order", { initial, final }, ["final_policy_version"]);
  }
  if (typeof start === "string" && lacksZone(start)) {
    report("start-time-zone", { found: shortName(start) }, ["start_time"]);
  }
};

/** Whether a date and time names no zone. */
const lacksZone = (text: string): boolean => !/(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(text.slice("2025-11-01".length));

/** A call of a tool that waits for its result. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly path: Path;
}

const inspectTurns = ({ messages_and_choices: messages, tools }: Trajectory, report: Report): void => {
  const listed = listOf(tools);
  const near = nearIn(listed ?? new Set());
  const calls = new Calls();
  let hasAssistant = false;
  for (let at = 0; at < messages.length; at++) {
    const entry = messages[at];
    if (!isObject(entry)) continue;
    const inChoice = isChoice(entry);
    const message = inChoice ? entry.message : entry;
    if (inChoice || message.role === "assistant") hasAssistant = true;
    if (message.role === "tool") calls.answer(message.tool_call_id);
    if (!Array.isArray(message.tool_calls)) continue;
    const own = callsOf(message.tool_calls, inChoice ? [at, "message"] : [at]);
    if (listed !== undefined) inspectNames(own, { listed, near, report });
    if (at < messages.length - 1) calls.wait(own);
    // What the last message calls may end the trajectory.
    else
      for (const { name, path } of own)
        if (calls.wereAnswered(name)) report("last-call-unanswered", { name: shortName(name) }, path);
  }
  if (!hasAssistant) report("no-assistant", undefined, ["messages_and_choices"]);
  for (const { name, path } of calls.waiting)
    report("tool-call-unanswered", { name: name === "" ? undefined : shortName(name) }, path);
};

/** Calls of a trajectory, looked up by their ids: there may be thousands. */
class Calls {
  readonly #waiting = new Map<string, Call[]>();
  readonly #answered = new Set<string>();

  /** Calls wait for their results; one without an id can't be answered. */
  wait(calls: readonly Call[]): void {
    for (const call of calls) {
      if (call.id === "") continue;
      const same = this.#waiting.get(call.id);
      if (same === undefined) this.#waiting.set(call.id, [call]);
      else same.push(call);
    }
  }

  /** A result came for an id. One that names none, of which another problem tells, is taken for that of the oldest call. */
  answer(named: unknown): void {
    const id = typeof named === "string" ? named : this.#waiting.keys().next().value;
    if (id === undefined) return;
    const calls = this.#waiting.get(id) ?? [];
    const came = typeof named === "string" ? calls : calls.slice(0, 1);
    for (const { name } of came) if (name !== "") this.#answered.add(name);
    if (came.length === calls.length) this.#waiting.delete(id);
    else this.#waiting.set(id, calls.slice(1));
  }

  /** Whether a call of a tool was answered before. */
  wereAnswered(name: string): boolean {
    return this.#answered.has(name);
  }

  /** Calls that still wait. */
  get waiting(): readonly Call[] {
    return [...this.#waiting.values()].flat();
  }
}

const callsOf = (calls: readonly unknown[], base: Path): readonly Call[] =>
  calls.flatMap((call, at) => {
    if (!isObject(call)) return [];
    const id = typeof call.id === "string" ? call.id : "";
    return [{ id, name: nameOf(call), path: ["messages_and_choices", ...base, "tool_calls", at] }];
  });

const nameOf = (call: JsonObject): string =>
  isObject(call.function) && typeof call.function.name === "string" ? call.function.name : "";

/** The names of tools; undefined where none are given, or one has no name. */
const listOf = (tools: Trajectory["tools"]): ReadonlySet<string> | undefined => {
  if (tools === undefined || tools === null) return undefined;
  const names = tools.flatMap(({ function: { name } }) => name ?? []);
  return names.length === tools.length ? new Set(names) : undefined;
};

/** Tools that a mistyped name is compared with: of more, which agents seldom have, it is looked up. */
const mostCompared = 200;

/** The listed name that was probably meant. */
type Near = (name: string) => string | undefined;

const nearIn = (listed: ReadonlySet<string>): Near =>
  listed.size > mostCompared ? nearestAmong(listed) : (name) => nearest(name, listed);

const inspectNames = (
  calls: readonly Call[],
  { listed, near, report }: { readonly listed: ReadonlySet<string>; readonly near: Near; readonly report: Report },
): void => {
  for (const { name, path } of calls) {
    if (name === "" || listed.has(name)) continue;
    const suggestion = () => near(name.slice(0, longestName));
    report("tool-unlisted", { name: shortName(name), suggestion }, [...path, "function", "name"]);
  }
};
