/** Holds a parsed group or trajectory against the interface (errors) and against what deployed services ask (warnings). */

import {
  isTrajectory as isPlainTrajectory,
  isTrajectoryGroup,
  Trajectory,
  TrajectoryGroup,
} from "../../contract/log.ts";
import { isObject, type JsonObject, valueAt } from "../../json/walk.ts";
import type { Path } from "../rules/places.ts";
import { kindOf, type Report } from "../rules/values.ts";
import { inspectTrajectory } from "./field-checks.ts";
import { insteadOf, isNoTrajectory } from "./other-tools.ts";

/** A group that has the interface's types; undefined where an error was reported. */
export const checkGroup = (value: unknown, report: Report): TrajectoryGroup | undefined => {
  if (isTrajectoryGroup(value)) return inspectGroup(value, report);
  if (!isObject(value) || !Array.isArray(value.trajectories)) {
    isOf(TrajectoryGroup, value, { name: "a group", report });
    return undefined;
  }
  // Each is held against the schema by itself, which takes far longer than to see that one has the types.
  const valid = new Map<number, Trajectory>();
  for (const [at, one] of value.trajectories.entries()) {
    const wanted = { name: `trajectories[${at}]`, report: reportIn(at, report) };
    if (isPlainTrajectory(one) || isOf(Trajectory, one, wanted)) valid.set(at, one);
  }
  if (valid.size === value.trajectories.length) {
    return inspectGroup({ ...value, trajectories: [...valid.values()] }, report);
  }
  // What is unusual in the others is told in the same run.
  for (const [at, one] of valid) inspectTrajectory(one, reportIn(at, report));
  return undefined;
};

const inspectGroup = (group: TrajectoryGroup, report: Report): TrajectoryGroup => {
  const { trajectories, exceptions } = group;
  if (trajectories.length === 0) {
    const hasExceptions = Array.isArray(exceptions) && exceptions.length > 0;
    report("group-empty", { hasExceptions }, ["trajectories"]);
  }
  const versions = trajectories.flatMap((one) => one.final_policy_version ?? one.initial_policy_version ?? []);
  reportMixed(versions, (data) => report("policy-mixed", data, []));
  for (const [at, trajectory] of trajectories.entries()) inspectTrajectory(trajectory, reportIn(at, report));
  return group;
};

/** Reports what is found in a trajectory of a group. */
const reportIn =
  (at: number, report: Report): Report =>
  (rule, data, path) =>
    report(rule, data, ["trajectories", at, ...path]);

/** A trajectory that has the interface's types; undefined where an error was reported. */
export const checkTrajectory = (value: unknown, report: Report): Trajectory | undefined => {
  if (!isPlainTrajectory(value) && !isOf(Trajectory, value, { name: "a trajectory", report })) return undefined;
  inspectTrajectory(value, report);
  return value;
};

/** A schema of values, and what it says of others. */
interface Shape<Value> {
  safeParse(value: unknown): {
    readonly success: boolean;
    readonly error?: { readonly issues: readonly Issue[] } | undefined;
    readonly data?: Value;
  };
}

/**
 * Whether a value is what a schema says; what is wrong with it is reported where that is wanted. The value is kept as it
 * was parsed: the schema's copy lacks a key that is called `__proto__`.
 */
const isOf = <Value>(
  shape: Shape<Value>,
  value: unknown,
  wanted?: { readonly name: string; readonly report: Report },
): value is Value => {
  const { success, error } = shape.safeParse(value);
  if (!success && wanted !== undefined) reportIssues(error?.issues ?? [], { value, name: wanted.name }, wanted.report);
  return success;
};

/** Tells of policy versions of a group that are not all the same. */
export const reportMixed = (
  versions: readonly number[],
  report: (data: { readonly least: number; readonly most: number }) => void,
): void => {
  const [first = 0] = versions;
  if (versions.every((version) => version === first)) return;
  const [least, most] = versions.reduce<[number, number]>(
    ([low, high], version) => [Math.min(low, version), Math.max(high, version)],
    [first, first],
  );
  report({ least, most });
};

type Issue = NonNullable<ReturnType<typeof Trajectory.safeParse>["error"]>["issues"][number];

const reportIssues = (
  issues: readonly Issue[],
  { value, name }: { readonly value: unknown; readonly name: string },
  report: Report,
): void => {
  for (const { path: parts, ...issue } of issues) {
    const path = parts.map((part) => (typeof part === "number" ? part : String(part)));
    const field = path.length === 0 ? name : fieldOf(path);
    const found = valueAt(value, path);
    if (found === undefined) {
      const holder = valueAt(value, path.slice(0, -1));
      if (field === "reward" && isNoTrajectory(holder)) continue;
      report("missing-field", { field, instead: () => insteadOf(field, holder) }, path);
    } else if (issue.code === "custom") {
      report("start-time-wrong", undefined, path);
    } else {
      const wanted = issue.code === "invalid_type" ? (wantedWords[issue.expected] ?? issue.expected) : issue.message;
      const instead = () => fixOf(found, { field, wanted });
      report("wrong-type", { field, wanted, found: kindOf(found), instead }, path);
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

/** How a value of the wrong type becomes one of the right type, where it looks like one. */
const fixOf = (
  found: unknown,
  { field, wanted }: { readonly field: string; readonly wanted: string },
): string | undefined => {
  if (field === "reward" && found === null)
    return "a reward can't be left out: write a number, or leave out the trajectory";
  if (field === "reward" && typeof found === "object") return "it is one number for the whole trajectory";
  if (isObject(found) && wanted === "an array") return nestingFix(found, field);
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

/** What to do with an object where an array should be. */
const nestingFix = (found: JsonObject, field: string): string | undefined => {
  if (field === "trajectories" && Object.hasOwn(found, "messages_and_choices")) {
    return 'one trajectory is an array of one: "trajectories": [{…}]';
  }
  if (field === "messages_and_choices" && (Object.hasOwn(found, "role") || Object.hasOwn(found, "message"))) {
    return 'one message is an array of one: "messages_and_choices": [{…}]';
  }
  return undefined;
};
