/** The key that puts trajectories into one group. */
import { createHash } from "node:crypto";
import { isObject, type JsonObject, valueAt } from "../../json/walk.ts";
import type { Path } from "../rules/places.ts";
import { groupKeyNames, type Report } from "../rules/values.ts";

/** A group key, compared by type and value: its text is JSON, or of an array or object the digest of its bytes. */
interface GroupKey {
  readonly text: string;
}

/** Where the key is looked for: at the top, in the metadata, and as a path of names with dots between them. */
const pathsOf = (name: string): readonly Path[] => {
  const steps = name.split(".");
  const dotted = steps.length > 1 ? [steps, ["metadata", ...steps]] : [];
  return [[name], ["metadata", name], ...dotted];
};

/** Names that keys of groups have, the surest first: a prompt may be the same by chance. */
export const groupingNames: readonly string[] = [...groupKeyNames, "prompt", "question", "task"];

/** Objects of a trajectory, and of its metadata, that are looked into for a key: a few hold what a row is of. */
const mostHolders = 16;

/** What a trajectory has of keys that group, by the names that `--group-by` takes: of its own, and of objects in it or in its metadata. */
export const groupingKeysOf = (value: unknown): readonly { readonly name: string; readonly text: string }[] => {
  if (!isObject(value)) return [];
  const metadata = isObject(value.metadata) ? value.metadata : {};
  const holders = [...Object.entries(value), ...Object.entries(metadata)].flatMap(([name, inner]) =>
    inner !== metadata && isObject(inner) && /^[\w-]+$/.test(name) ? [name] : [],
  );
  const names = [undefined, ...new Set(holders.slice(0, mostHolders))].flatMap((holder) =>
    groupingNames.map((name) => (holder === undefined ? name : `${holder}.${name}`)),
  );
  return names.flatMap((name) => {
    const key = pathsOf(name)
      .map((path) => valueAt(value, path) ?? null)
      .find((one) => one !== null);
    return key === undefined ? [] : [{ name, text: JSON.stringify(key) }];
  });
};

/** The lower, the surer a key is one that groups: its own name, then how near it stands. */
export const surenessOf = (name: string): number => {
  const steps = name.split(".");
  return 2 * groupingNames.indexOf(steps.at(-1) ?? "") + steps.length - 1;
};

/** Characters of a digest that stand for a value. */
const digestLength = 16;

/**
 * The group key of a trajectory: of the key asked for, else of `group_id` at the top. Undefined where it has none, which
 * is reported where one was asked for.
 */
export const groupKeyOf = (
  value: JsonObject,
  {
    groupBy,
    report,
    textAt,
  }: {
    readonly groupBy: string | undefined;
    readonly report: Report;
    /** The bytes of the value at a path. */
    readonly textAt: (path: Path) => Buffer;
  },
): GroupKey | undefined => {
  const paths = groupBy === undefined ? [["group_id"]] : pathsOf(groupBy);
  const path = paths.find((one) => (valueAt(value, one) ?? null) !== null);
  if (path === undefined) {
    if (groupBy !== undefined) report("group-key-missing", { key: groupBy }, []);
    return undefined;
  }
  const key = valueAt(value, path);
  if (typeof key === "object") {
    return { text: `sha256:${createHash("sha256").update(textAt(path)).digest("hex").slice(0, digestLength)}` };
  }
  // Two whole numbers above 2^53 may be one double: their digits tell them apart.
  const exact = typeof key !== "number" || Number.isSafeInteger(key);
  return { text: exact ? JSON.stringify(key) : textAt(path).toString("latin1") };
};

/** Keys of a trajectory that its interface does not know, those of its metadata included, by the names they are grouped by. */
export const ownKeysOf = (value: unknown, known: ReadonlySet<string>): readonly string[] => {
  if (!isObject(value)) return [];
  const metadata = isObject(value.metadata) ? Object.keys(value.metadata) : [];
  return [...Object.keys(value).filter((key) => !known.has(key)), ...metadata];
};
