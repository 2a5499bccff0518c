/** Finds the columns that name the group, the rollout and the policy of a row. */
import { groupKeyNames } from "../index/ambiguous-groups.ts";
import { isComparedStep, isStep, stepHolders } from "../index/step-columns.ts";
import { unwrap } from "../messages/chat.ts";
import { type Members, openKeyFacts, type Value } from "../messages/value.ts";
import type { SourceRecord } from "./format.ts";

const stepKeys = openKeyFacts((keys) => keys.filter(isStep));

/** The objects in a row that can have columns of the row. */
const holderKeys = openKeyFacts((keys) => stepHolders.filter((name) => keys.includes(name)));

const listHolders = (row: Value) =>
  row.facts(holderKeys).map((name) => [`${name}.`, unwrap(row.require(name))] as const);

/** Returns the JSON of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const [prefix, holder] of [["", row] as const, ...listHolders(row)])
    for (const key of holder.facts(stepKeys)) {
      const value = holder.require(key);
      if (value.isScalar) steps.set(`${prefix}${key}`, value.raw);
    }
  return steps;
};

/** Returns the step columns in objects of the row, which become metadata. */
export const listInnerSteps = (row: Value): Members =>
  listHolders(row).flatMap(([, holder]) =>
    holder.facts(stepKeys).flatMap((key) => {
      const value = holder.require(key);
      return value.isScalar && isComparedStep(key) ? [[key, value] as const] : [];
    }),
  );

/** Returns the part of a group key that keeps rollouts of different policies apart. */
export const formatSteps = (steps: ReadonlyMap<string, string>) =>
  steps.size === 0 ? "" : Array.from(steps, ([name, value]) => `${name} ${value}`).join();

/** AReaL's `sample_idx` counts turns, and a `run_id` names many rollouts. */
const rolloutColumns =
  "trial_name rollout_id trajectory_id traj_id traj_uid episode_id session_id rollout_idx rollout_index".split(" ");

const rolloutKeys = openKeyFacts((keys) => rolloutColumns.filter((column) => keys.includes(column)));

export const findRolloutId = (row: Value) => {
  for (const holder of [row, ...listHolders(row).map(([, value]) => value)])
    for (const column of holder.facts(rolloutKeys)) {
      const value = holder.require(column);
      if (value.isScalar) return `${column} ${value.raw}`;
    }
  return undefined;
};

/** Returns a function that finds the first of the keys in a row or its metadata. */
const openKeySearch = (names: readonly string[]) => {
  const known = openKeyFacts((keys) => names.filter((name) => keys.includes(name)));
  return (row: Value) => {
    const metadata = row.get("metadata");
    const found = [...row.facts(known), ...(metadata?.facts(known) ?? [])];
    const name = found.length === 0 ? undefined : names.find((one) => found.includes(one));
    return name && `${name} ${(row.get(name) ?? metadata?.get(name))?.raw}`;
  };
};

const findUid = openKeySearch(["uid"]);
const findOtherKey = openKeySearch(groupKeyNames.filter((name) => name !== "uid"));

/** Writers put the rollouts of a prompt into one batch. */
const maxUids = 10_000;

/** A uid names a group if rows of its file share it. Otherwise, it names the row. */
export const openRowKeys = (findGroup: (row: Value) => string | undefined = () => undefined) => {
  const findOther = (row: Value) => findGroup(row) ?? findOtherKey(row);
  const seen = new Set<string>();
  const filesWithShared = new Set<string>();
  return {
    preview: ({ value, file, position }: SourceRecord) => {
      const key = findOther(value) === undefined ? findUid(value) : undefined;
      if (position === 0) seen.clear();
      if (key === undefined || seen.size === maxUids) return false;
      if (seen.has(key)) filesWithShared.add(file);
      seen.add(key);
      return !filesWithShared.has(file);
    },
    find: ({ value, file }: SourceRecord) =>
      findOther(value) ?? (filesWithShared.has(file) ? findUid(value) : undefined),
  };
};
