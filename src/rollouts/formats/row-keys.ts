/** Finds the columns that state the group, the rollout, the policy and the system prompt of a row. */
import { groupKeyNames } from "../index/ambiguous-groups.ts";
import { unwrap } from "../messages/chat.ts";
import type { Json } from "../messages/output-json.ts";
import { formatCanonically } from "../messages/said-content.ts";
import { type Members, openKeyFacts, Value } from "../messages/value.ts";
import { isPolicyColumn, isStep, stepHolders } from "../rules/step-columns.ts";
import type { SourceRecord } from "./format.ts";

const stepKeys = openKeyFacts((keys) => keys.filter(isStep));

/** The objects in a row that can have columns of the row. */
const holderKeys = openKeyFacts((keys) => stepHolders.filter((name) => keys.includes(name)));

const listHolders = (row: Value) =>
  row.facts(holderKeys).map((name) => [`${name}.`, unwrap(row.require(name))] as const);

/** Writers such as pandas write the same number in several spellings. */
const formatValue = ({ jsonValue }: Value) => formatCanonically(jsonValue);

/** Returns the value of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const [prefix, holder] of [["", row] as const, ...listHolders(row)])
    for (const key of holder.facts(stepKeys)) {
      const value = holder.require(key);
      if (value.isScalar) steps.set(`${prefix}${key}`, formatValue(value));
    }
  return steps;
};

/** Returns the step columns in objects of the row, which become metadata. */
export const listInnerSteps = (row: Value): Members =>
  listHolders(row).flatMap(([, holder]) =>
    holder.facts(stepKeys).flatMap((key) => {
      const value = holder.require(key);
      return value.isScalar && isPolicyColumn(key) ? [[key, value] as const] : [];
    }),
  );

/** Returns the part of a group key that keeps rollouts of different policies apart. */
export const formatSteps = (steps: ReadonlyMap<string, string>) => {
  let text = "";
  for (const [name, value] of steps) text += `${text && ","}${name} ${value}`;
  return text;
};

/** AReaL's `sample_idx` counts turns, and a `run_id` names many rollouts. */
const rolloutColumns =
  "trial_name rollout_id trajectory_id traj_id traj_uid episode_id session_id rollout_idx rollout_index".split(" ");

const rolloutKeys = openKeyFacts((keys) => rolloutColumns.filter((column) => keys.includes(column)));

export const findRolloutId = (row: Value) => {
  for (const holder of [row, ...listHolders(row).map(([, value]) => value)])
    for (const column of holder.facts(rolloutKeys)) {
      const value = holder.require(column);
      if (value.isScalar) return `${column} ${formatValue(value)}`;
    }
  return undefined;
};

/** Returns a function that finds the first of the keys in a row or its metadata. */
const openKeySearch = (names: readonly string[]) => {
  const known = openKeyFacts((keys) => names.filter((name) => keys.includes(name)));
  return (row: Value) => {
    const metadata = row.get("metadata");
    const [own, inner] = [row.facts(known), metadata?.facts(known) ?? []];
    if (own.length + inner.length === 0) return undefined;
    const name = names.find((one) => own.includes(one) || inner.includes(one));
    const value = name && (row.get(name) ?? metadata?.get(name));
    return value && `${name} ${formatValue(value)}`;
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

/** Returns the number of the episode; undefined for a row of another writer. */
export const findEpisode = (row: Value) => {
  const [, number] = /^episode-(\d+)$/.exec(row.textAt("episode") ?? "") ?? [];
  const isNamed = row.has("trial_name") && row.textAt("trial_name") !== "unknown-trial";
  return number === undefined || !isNamed ? undefined : Number(number);
};

/** A subagent's row, such as that of a summary, has the result of its trial. */
export const isSubagent = (row: Value) => (row.textAt("trace_source") ?? "main") !== "main" && row.has("trial_name");

export const findTask = (row: Value) =>
  findEpisode(row) === undefined ? undefined : ["run_id", "task", "agent"].map((key) => row.get(key)?.raw).join(" ");

/** Instead of a reward, a failed trial has the name of its exception. */
export const isException = (result: Value | undefined) =>
  /^(?:\w+\.)*(?!(?:True|False|None|NaN)$)[A-Z]\w*[a-z]\w*$/.test(result?.text ?? "");

export const systemKeys = ["system", "system_prompt", "system_message"];

/** Returns the system prompt that a row states outside of its prompt, as rows of ms-swift do. */
export const findSystem = (row: Value, start: Json | undefined): readonly Value[] => {
  if (!row.hasAny(...systemKeys)) return [];
  const prompt = start instanceof Value ? unwrap(start) : undefined;
  const first = prompt?.get(0) ?? prompt;
  const content = systemKeys.map((key) => row.get(key)).find((value) => value?.text?.trim());
  const isStated = (first?.textAt("role") ?? first?.textAt("from")) === "system";
  return !content || isStated || prompt?.text?.includes(content.text?.trim() ?? "") ? [] : [content];
};

export const toSystem = (content: Value) => ({ role: "system", content });
