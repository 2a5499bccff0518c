/** Finds the recorded group keys of chat rows. */
import { groupKeyNames } from "../index/ambiguous-groups.ts";
import type { Value } from "../messages/value.ts";
import type { SourceRecord } from "./format.ts";

const findKey = (row: Value, names: readonly string[]) => {
  for (const name of names) {
    const key = row.get(name) ?? row.get("metadata", name);
    if (key) return `${name} ${key.raw}`;
  }
  return undefined;
};

const uid = ["uid"];
const otherNames = groupKeyNames.filter((name) => name !== "uid");

/** Writers put the rollouts of a prompt into one batch. */
const maxUids = 10_000;

/** A uid names a group if rows of its file share it. Otherwise, it names the row. */
export const openRowKeys = (findGroup: (row: Value) => string | undefined = () => undefined) => {
  const findOther = (row: Value) => findGroup(row) ?? findKey(row, otherNames);
  const seen = new Set<string>();
  const filesWithShared = new Set<string>();
  return {
    preview: ({ value, file, position }: SourceRecord) => {
      const key = findOther(value) === undefined ? findKey(value, uid) : undefined;
      if (position === 0) seen.clear();
      if (key === undefined || seen.size === maxUids) return false;
      if (seen.has(key)) filesWithShared.add(file);
      seen.add(key);
      return !filesWithShared.has(file);
    },
    find: ({ value, file }: SourceRecord) =>
      findOther(value) ?? (filesWithShared.has(file) ? findKey(value, uid) : undefined),
  };
};
