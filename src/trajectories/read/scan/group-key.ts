/** The key that puts trajectories into one group. */
import { isObject, type JsonObject } from "../../../json/walk.ts";
import type { Path } from "../../rules/places.ts";
import { kindOf, type Report } from "../../rules/values.ts";

/** A group key, compared by type and value: its text is JSON. */
interface GroupKey {
  readonly text: string;
}

/**
 * The group key of a trajectory: of the top-level or `metadata` key asked for, else of `group_id`.
 * Undefined where it has none and needs none; `unusable` where that was reported.
 */
export const groupKeyOf = (
  value: JsonObject,
  {
    groupBy,
    report,
    spelled,
  }: {
    readonly groupBy: string | undefined;
    readonly report: Report;
    /** How the number at a path is spelled. */
    readonly spelled: (path: Path) => string;
  },
): GroupKey | "unusable" | undefined => {
  const name = groupBy ?? "group_id";
  const { metadata } = value;
  const nested = groupBy !== undefined && !has(value, name) && isObject(metadata) && has(metadata, name);
  const holder = nested ? metadata : value;
  if (!has(holder, name)) {
    if (groupBy === undefined) return undefined;
    report("group-key-missing", { key: name }, []);
    return "unusable";
  }
  const path = nested ? ["metadata", name] : [name];
  const key = holder[name];
  if (typeof key === "object") {
    report("group-key-type", { key: name, found: kindOf(key) }, path);
    return "unusable";
  }
  // Two whole numbers above 2^53 may be one double: their digits tell them apart.
  const exact = typeof key !== "number" || Number.isSafeInteger(key);
  return { text: exact ? JSON.stringify(key) : spelled(path) };
};

const has = (holder: JsonObject, key: string): boolean => Object.hasOwn(holder, key) && holder[key] !== null;
