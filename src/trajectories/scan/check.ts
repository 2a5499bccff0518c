/** Holds a parsed group or trajectory against the interface (errors) and against what deployed services ask (warnings). */

import { Trajectory, TrajectoryGroup } from "../../contract/log.ts";
import { isObject } from "../../json.ts";
import type { Path } from "../problems/places.ts";
import { kindOf, type Report, valueAt } from "../problems/values.ts";
import { inspectTrajectory } from "./inspect.ts";

/** A group that has the interface's types; undefined where an error was reported. */
export const checkGroup = (value: unknown, report: Report): TrajectoryGroup | undefined => {
  if (!isGroup(value)) {
    reportIssues(TrajectoryGroup.safeParse(value).error?.issues ?? [], value, report);
    return undefined;
  }
  const { trajectories } = value;
  if (trajectories.length === 0) report("group-empty", undefined, ["trajectories"]);
  for (const [at, trajectory] of trajectories.entries()) {
    inspectTrajectory(trajectory, (rule, data, path) => report(rule, data, ["trajectories", at, ...path]));
  }
  return value;
};

/** A trajectory that has the interface's types; undefined where an error was reported. */
export const checkTrajectory = (value: unknown, report: Report): Trajectory | undefined => {
  if (!isTrajectory(value)) {
    reportIssues(Trajectory.safeParse(value).error?.issues ?? [], value, report);
    return undefined;
  }
  inspectTrajectory(value, report);
  return value;
};

// The value is kept as it was parsed: the schema's copy lacks a key that is called `__proto__`.
const isGroup = (value: unknown): value is TrajectoryGroup => TrajectoryGroup.safeParse(value).success;

const isTrajectory = (value: unknown): value is Trajectory => Trajectory.safeParse(value).success;

type Issue = NonNullable<ReturnType<typeof Trajectory.safeParse>["error"]>["issues"][number];

const reportIssues = (issues: readonly Issue[], value: unknown, report: Report): void => {
  for (const { path: parts, ...issue } of issues) {
    const path = parts.map((part) => (typeof part === "number" ? part : String(part)));
    const field = fieldOf(path);
    const found = valueAt(value, path);
    if (found === undefined) {
      report("missing-field", { field, instead: insteadOf(field, valueAt(value, path.slice(0, -1))) }, path);
    } else {
      const wanted = issue.code === "invalid_type" ? (wantedWords[issue.expected] ?? issue.expected) : issue.message;
      report("wrong-type", { field, wanted, found: kindOf(found), instead: mendOf(found, wanted) }, path);
    }
  }
};

/** What types are called in words. */
const wantedWords: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "a boolean",
  array: "an array",
  object: "an object",
  record: "an object",
};

/** The field that a path ends in: an element has the name of its array and its position. */
const fieldOf = (path: Path): string => {
  const at = path.findLastIndex((step) => typeof step === "string");
  return `${path[at] ?? ""}${path
    .slice(at + 1)
    .map((step) => `[${step}]`)
    .join("")}`;
};

/** Names that other tools have for a field. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  messages_and_choices: [
    "messages",
    "conversation",
    "conversations",
    "messages_and_choice",
    "choices",
    "turns",
    "chat",
  ],
  reward: ["rewards", "score", "return", "total_reward"],
  trajectories: ["trajectory", "rollouts", "samples"],
};

/** What to do about a missing field, where something else seems to stand for it. */
const insteadOf = (field: string, holder: unknown): string | undefined => {
  if (!isObject(holder)) return undefined;
  const other = otherNames[field]?.find((name) => Object.hasOwn(holder, name));
  if (other !== undefined) return `rename ${other} to ${field}`;
  if (field === "reward") {
    const within = ["metrics", "metadata"].find((name) => hasIn(holder[name], "reward"));
    return within === undefined ? undefined : `it stands in ${within}: put it beside messages_and_choices`;
  }
  if (field !== "messages_and_choices") return undefined;
  if (Array.isArray(holder.trajectories))
    return "a group stands where a trajectory should: put its trajectories one level up";
  if (typeof holder.role === "string") {
    return "a message stands where a trajectory should: the messages of a trajectory belong into its messages_and_choices";
  }
  const wrapper = Object.keys(holder).find((name) => hasIn(holder[name], field));
  return wrapper === undefined ? undefined : `it stands in ${shortened(wrapper)}: put what is in that one level up`;
};

const hasIn = (value: unknown, key: string): boolean => isObject(value) && Object.hasOwn(value, key);

const shortened = (name: string): string => (name.length > 40 ? `${name.slice(0, 39)}…` : name);

/** How a value of the wrong type becomes one of the right type, where it looks like one. */
const mendOf = (found: unknown, wanted: string): string | undefined => {
  if (Array.isArray(found)) return wanted === "an object" ? "there is one array too many around it" : undefined;
  if (typeof found === "boolean" && wanted.endsWith("number")) return `write ${Number(found)}`;
  if (typeof found !== "string") return undefined;
  if (wanted.endsWith("number") && found.trim() !== "" && Number.isFinite(Number(found))) {
    return `write it without quotes: ${Number(found)}`;
  }
  return /^\s*[[{]/.test(found) && !wanted.endsWith("string")
    ? "it holds JSON as text, written twice: parse the string once more"
    : undefined;
};
