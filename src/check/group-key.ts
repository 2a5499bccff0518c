/** Reads the key that puts trajectories into one group. */
import { hash } from "node:crypto";
import * as json from "../json/table.ts";
import { getValue } from "../json/walk.ts";
import { groupKeyNames, toKeyPaths } from "./rules/ambiguous-groups.ts";
import { Kind, kindAt } from "./shape.ts";
import type { Report } from "./types.ts";

/** Names of group keys, the most certain first. Prompts are last, because different groups can share a prompt. */
export const groupKeyCandidates: readonly string[] = [...groupKeyNames, "prompt", "question", "task"];

const readKeyValue = (trajectory: unknown, name: string): unknown =>
  toKeyPaths(name)
    .map((path) => getValue(trajectory, path))
    .find((value) => value !== undefined && value !== null);

/** Finds group keys in a trajectory and its metadata, the most certain name first. */
export const findGroupKeys = (trajectory: unknown) =>
  groupKeyCandidates.flatMap((name) => {
    const value = readKeyValue(trajectory, name);
    return value === undefined ? [] : [{ name, text: JSON.stringify(value) }];
  });

/** Returns the group key of a trajectory as text: the value at `groupBy`, else at a name in `groupKeyNames`. */
export const findGroupKey = (trajectory: unknown, groupBy: string | undefined): string | undefined => {
  const names = groupBy === undefined ? groupKeyNames : [groupBy, ...groupKeyNames];
  const value = names.map((name) => readKeyValue(trajectory, name)).find((found) => found !== undefined);
  return value === undefined || typeof value === "string" ? value : JSON.stringify(value);
};

/** Opens a reader of the group key that `groupBy` names, by default of `group_id` at the top level. */
export const openGroupKeyReader = (groupBy: string | undefined) => {
  const paths = groupBy === undefined ? [["group_id"]] : toKeyPaths(groupBy);
  return (trajectory: json.JsonValue, report: Report) => {
    for (const path of paths) {
      const key = path.reduce<json.JsonValue | undefined>(enterStep, trajectory);
      if (key !== undefined && kindAt(key.table, key.node) !== Kind.null) return formatKey(key);
    }
    if (groupBy !== undefined) report("group-key-missing", { key: groupBy }, trajectory.node);
    return undefined;
  };
};

const enterStep = (value: json.JsonValue | undefined, step: string) => {
  const holder = value && json.expandLeaf(value);
  if (holder === undefined || kindAt(holder.table, holder.node) !== Kind.array) return json.memberAt(holder, step);
  return /^(?:0|[1-9]\d*)$/.test(step) ? json.findChild(holder, Number(step)) : undefined;
};

const digestDigits = 16;

/** Formats a group key as JSON, but an array or object as a digest. Keys of different types differ. */
const formatKey = ({ table, node }: json.JsonValue) => {
  const kind = kindAt(table, node);
  const [start, end] = [json.startOf(table, node), json.endOf(table, node)];
  const isUnescapedAscii = json.detailOf(table, node) === end - start - 2;
  if (kind === Kind.string && !isUnescapedAscii) return JSON.stringify(json.readString(table, node));
  // Integers above 2^53 can share a double, so their digits are compared.
  const value = kind === Kind.number ? json.readNumber(table, node) : Number.NaN;
  if (Number.isSafeInteger(value)) return JSON.stringify(value);
  if (kind !== Kind.object && kind !== Kind.array) return table.bytes.toString("latin1", start, end);
  return `sha256:${hash("sha256", table.bytes.subarray(start, end)).slice(0, digestDigits)}`;
};
