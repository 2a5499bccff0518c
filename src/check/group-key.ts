/** The key that puts trajectories into one group. */
import { hash } from "node:crypto";
import {
  detailOf,
  endOf,
  expandLeaf,
  findChild,
  type JsonValue,
  memberAt,
  readNumber,
  readString,
  startOf,
} from "../json/table.ts";
import { getValue, isObject } from "../json/walk.ts";
import { groupKeyNames } from "./rules/ambiguous-groups.ts";
import { Kind, kindAt } from "./shape.ts";
import type { Report } from "./types.ts";

/** Where the key is looked for: at the top, in the metadata, and as a path of names with dots between them. */
const toPaths = (name: string): readonly (readonly string[])[] => {
  const steps = name.split(".");
  const dotted = steps.length > 1 ? [steps, ["metadata", ...steps]] : [];
  return [[name], ["metadata", name], ...dotted];
};

/** Names that keys of groups have, the surest first: a prompt may be the same by chance. */
export const groupKeyCandidates: readonly string[] = [...groupKeyNames, "prompt", "question", "task"];

/** Objects of a trajectory, and of its metadata, that are looked into for a key: a few hold what a row is of. */
const maxObjects = 16;

/** What a trajectory has of keys that group, by the names that `--group-by` takes: of its own, and of objects in it or in its metadata. */
export const findGroupKeys = (value: unknown): readonly { readonly name: string; readonly text: string }[] => {
  if (!isObject(value)) return [];
  const metadata = isObject(value.metadata) ? value.metadata : {};
  const holders = [...Object.entries(value), ...Object.entries(metadata)].flatMap(([name, inner]) =>
    inner !== metadata && isObject(inner) && /^[\w-]+$/.test(name) ? [`${name}.`] : [],
  );
  return ["", ...new Set(holders.slice(0, maxObjects))].flatMap((holder) =>
    groupKeyCandidates.flatMap((own) => {
      const name = `${holder}${own}`;
      const key = toPaths(name).map((path) => getValue(value, path));
      const found = key.find((one) => one !== undefined && one !== null);
      return found === undefined ? [] : [{ name, text: JSON.stringify(found) }];
    }),
  );
};

/** The lower, the surer a key is one that groups: its own name, then how near it stands. */
export const rankGroupKey = (name: string): number => {
  const steps = name.split(".");
  return 2 * groupKeyCandidates.indexOf(steps.at(-1) ?? "") + steps.length - 1;
};

/** Finds the group key of trajectories: the key asked for, else `group_id` at the top. */
export const openGroupKeyReader = (
  groupBy: string | undefined,
): ((trajectory: JsonValue, report: Report) => string | undefined) => {
  const paths = groupBy === undefined ? [["group_id"]] : toPaths(groupBy);
  return (trajectory, report) => {
    for (const path of paths) {
      const key = path.reduce<JsonValue | undefined>(enterStep, trajectory);
      if (key !== undefined && kindAt(key.text, key.node) !== Kind.null) return formatKey(key);
    }
    if (groupBy !== undefined) report("group-key-missing", { key: groupBy }, trajectory.node);
    return undefined;
  };
};

const enterStep = (given: JsonValue | undefined, step: string): JsonValue | undefined => {
  const holder = given && expandLeaf(given);
  if (holder === undefined || kindAt(holder.text, holder.node) !== Kind.array) return memberAt(holder, step);
  return /^(?:0|[1-9]\d*)$/.test(step) ? findChild(holder, Number(step)) : undefined;
};

/** Characters of a digest that stand for a value. */
const digestLength = 16;

/** A group key, compared by type and value: its text is JSON, or of an array or object the digest of its bytes. */
const formatKey = ({ text, node }: JsonValue): string => {
  const kind = kindAt(text, node);
  const [start, end] = [startOf(text, node), endOf(text, node)];
  const isPlain = detailOf(text, node) === end - start - 2;
  if (kind === Kind.string && !isPlain) return JSON.stringify(readString(text, node));
  // Two whole numbers above 2^53 may be one double: their digits tell them apart.
  const value = kind === Kind.number ? readNumber(text, node) : Number.NaN;
  if (Number.isSafeInteger(value)) return JSON.stringify(value);
  if (kind !== Kind.object && kind !== Kind.array) return text.bytes.toString("latin1", start, end);
  return `sha256:${hash("sha256", text.bytes.subarray(start, end)).slice(0, digestLength)}`;
};

/** Keys of a trajectory that its interface does not know, those of its metadata included, by the names they are grouped by. */
export const listUnknownKeys = (value: unknown, known: ReadonlySet<string>): readonly string[] => {
  if (!isObject(value)) return [];
  const metadata = isObject(value.metadata) ? Object.keys(value.metadata) : [];
  return [...Object.keys(value).filter((key) => !known.has(key)), ...metadata];
};
