/** Values of parsed JSON: what kind they are, what stands at a path, what their names are in a sentence, and how a problem with one is reported. */
import type { Path } from "./places.ts";
import type { RuleData, RuleName } from "./rules.ts";

/** Names that a key of a group has, the surest first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

/** Takes a problem of the value being checked; `path` is from that value on. */
export type Report = <Name extends RuleName>(rule: Name, data: RuleData<Name>, path: Path) => void;

/** The kind of a JSON value, in words; a short one is shown. */
export const kindOf = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  if (typeof value === "number") return Number.isFinite(value) ? `the number ${value}` : "a number";
  return typeof value === "boolean" ? String(value) : "an object";
};

/** Characters that a name of the file's own has at most in a sentence. */
export const longestName = 60;

/** A name of the file's own, short enough for a sentence; one that nobody sees is in quotes. */
export const shortName = (name: string): string => {
  if (name.trim() === "") return JSON.stringify(name.slice(0, longestName));
  return name.length > longestName ? `${name.slice(0, longestName - 1)}…` : name;
};
