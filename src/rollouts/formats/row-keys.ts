/** Finds the columns that state the group, the rollout, the policy and the system prompt of a row. */

import { hash } from "node:crypto";
import { unwrap } from "../../conversation/apis/openai.ts";
import { formatCanonically, formatSaid } from "../../conversation/prompt.ts";
import { type Json, rawOf } from "../../json/output-json.ts";
import { type Members, openKeyFacts, Value } from "../../json/value.ts";
import { formatList } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { groupKeyNames } from "../index/ambiguous-groups.ts";
import { isContextColumn } from "../rules/row-columns.ts";
import { canNamePolicy, isPolicyColumn, isStep, stepHolders } from "../rules/step-columns.ts";
import type { FormatRun, RowTurns, SourceRecord } from "./format.ts";

const stepKeys = openKeyFacts((keys) => keys.filter(isStep));

/** The objects in a row that can have columns of the row. */
const holderKeys = openKeyFacts((keys) => stepHolders.filter((name) => keys.includes(name)));

const listHolders = (row: Value) =>
  row.facts(holderKeys).map((name) => [`${name}.`, unwrap(row.require(name))] as const);

/** Returns the value of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const [prefix, holder] of [["", row] as const, ...listHolders(row)])
    for (const key of holder.facts(stepKeys)) {
      const value = holder.require(key);
      // Writers such as pandas write the same number in several spellings.
      if (value.isScalar) steps.set(`${prefix}${key}`, formatCanonically(value));
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

/** Returns the number of sampled tokens in the usage of a row, which becomes metadata. */
export const listUsage = (row: Value): Members =>
  ["usage", "token_usage"].flatMap((name) =>
    row.members(name).filter(([key, { isNumber }]) => isNumber && /^(?:completion|output)_tokens$/.test(key)),
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
      if (value.isScalar) return `${column} ${formatCanonically(value)}`;
    }
  return undefined;
};

/** Returns the turns of a row with a prompt and a completion. */
export const readTurns = (row: Value, completionKey: string): RowTurns => {
  const [prompt = [], sampled = []] = ["prompt", completionKey].map((key) => {
    const turns = unwrap(row.get(key));
    return turns?.text ?? turns?.items();
  });
  return { prompt, sampled, id: findRolloutId(row) };
};

/** Columns in which writers of a row for each turn number the turns. */
const turnKeys = openKeyFacts((keys) =>
  keys.filter((key) => /^(?:turn|exchange|segment)_?(?:id|idx|index)$/.test(key)),
);

export const findTurnNumber = (row: Value) => {
  const [column] = row.facts(turnKeys);
  return column === undefined ? undefined : formatCanonically(row.require(column));
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
    return value && `${name} ${formatCanonically(value)}`;
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

/** Matches marks of media that are not in the messages, of several templates and of parts without their media. */
const placeholder = /<(?:image|video|audio)>|<\|(?:image|video|audio|vision)_|"type": ?"(?:image|video|audio)" ?\}/;

/** Ignores white space, escapes and ids. Most rows repeat the prompt of the last one. */
export const openPromptKeys = (run: FormatRun) => {
  let last = { steps: "", raw: "", key: "" };
  /** For each prompt with media, the key of its first row. */
  const firstKeys = new Map<string, string>();
  const noteDivision = (prompt: string, media: Members) => {
    const known = firstKeys.get(prompt);
    if (known === undefined && firstKeys.size < maxComparedRows) firstKeys.set(prompt, last.key);
    if (known === undefined || known === last.key) return;
    const names = formatList(media.map(([name]) => `\`${name}\``));
    run.note(
      `rows with the same prompt and another ${names} are different groups (if the model did not see it, rename it)`,
    );
  };
  return (steps: string, prompt: readonly Json[], media: Members) => {
    const values = [...prompt, ...media.map(([, value]) => value)];
    const raw = values.map(rawOf).join(",");
    if (last.key === "" || raw !== last.raw || steps !== last.steps) {
      if (media.length === 0 && placeholder.test(raw))
        run.note("found no media for the placeholders of prompts, so groups can contain different questions");
      const said = values.map((value) => formatSaid(value instanceof Value ? value : rawOf(value)));
      const digest = (texts: readonly string[]) => `${steps} prompt ${hash("sha256", texts.join(","))}`;
      last = { steps, raw, key: digest(said) };
      if (media.length > 0) noteDivision(digest(said.slice(0, prompt.length)), media);
    }
    return last.key;
  };
};

export const systemKeys = ["system", "system_prompt", "system_message"];

/** Returns the system prompt that a row states outside of its prompt, as rows of ms-swift do. */
export const findSystem = (row: Value, start: Json | undefined): readonly Value[] => {
  if (!row.hasAny(...systemKeys)) return [];
  const prompt = start instanceof Value ? unwrap(start) : undefined;
  const first = prompt?.get(0) ?? prompt;
  const content = systemKeys.map((key) => row.get(key)).find((value) => value?.text?.trim());
  const isStated = first?.textAt("role") === "system";
  return !content || isStated || prompt?.text?.includes(content.text?.trim() ?? "") ? [] : [content];
};

export const toSystem = (content: Value) => ({ role: "system", content });

const contextKeys = openKeyFacts((keys) => keys.filter((key) => isContextColumn(key) && !systemKeys.includes(key)));

/** Returns texts and lists next to a prompt that can be a part of it. @param divides true if they divide groups */
export const listContext = (run: FormatRun, row: Value, prompt: readonly Json[], divides: boolean) => {
  const names = row.facts(contextKeys);
  if (names.length === 0) return [];
  const said = prompt.map(rawOf).join();
  return names.flatMap((name) => {
    const value = row.require(name);
    if (value.canBeMetric || value.isBlank || prompt.includes(value) || said.includes(value.raw.slice(1, -1)))
      return [];
    const otherwise = divides ? ". If not, rename it, because its values divide groups" : "";
    run.note(
      `left \`${name}\` out of the prompts, although it can be a part of them (if the model saw it, write it there${otherwise})`,
    );
    return value;
  });
};

/** Ids of rollouts and workers differ within each group. */
const rolloutWords =
  /^(?!.*group$).*(?:turn|rollout|attempt|trial|repeat|episode|traj|sample_idx|worker|server|rank|node|host|device|shard)/i;
const groupWords =
  /(?:group|task|scenario|game|prompt|problem|question|query|case)_?(?:id|idx|index)$|(?:^|[_.])(?:gid|group|task|scenario|seed)$/i;
const idWords = /(?:_id|[a-z]Id|[Ii]dx|[Ii]ndex)$/;

/** Objects of unknown names, such as `env_state`, seldom state the policy. */
const policyHolder = /^(?:extra|meta|config|model|sampling|policy|train(?:er|ing))(?:_|$)/;

const maxComparedRows = 1024;
const maxComparedLength = 256;
/** Fewer divisions by a column that names no group can be chance. */
const minDivisions = 5;

type Counts = Map<string, number>;

/** Finds columns that divide groups that no recorded id states. */
export const openDivisions = (usedKeys: readonly string[]) => {
  const groups = new Map<string, { rows: number; columns: Map<string, Counts> }>();
  let rows = 0;
  const add = ({ value: row, file, group: of }: SourceRecord) => {
    if (!of || rows++ >= maxComparedRows) return;
    const group = groups.get(`${file} ${of.key}`) ?? { rows: 0, columns: new Map<string, Counts>() };
    groups.set(`${file} ${of.key}`, group);
    group.rows++;
    const objects = row.members().filter(([, value]) => value.isObject);
    const others = objects.map(([key, value]) => [`${key}.`, value] as const);
    for (const [prefix, holder] of new Map([["", row], ...others, ...listHolders(row)]))
      for (const [name, value] of holder.members()) {
        const isNumberOrText = value.isText || /^-?\d+$/.test(value.isNumber ? value.raw : "");
        if (!isNumberOrText || usedKeys.includes(name) || value.raw.length > maxComparedLength) continue;
        const counts = group.columns.get(`${prefix}${name}`) ?? new Map<string, number>();
        group.columns.set(`${prefix}${name}`, counts.set(value.raw, (counts.get(value.raw) ?? 0) + 1));
      }
  };
  const listNotes = () => {
    const columns = new Map<string, number[][]>();
    for (const { rows: size, columns: own } of groups.values())
      for (const [name, values] of size > 1 ? own : []) {
        const counts = [...values.values()];
        const found = columns.get(name) ?? [];
        columns.set(name, found);
        if (counts.reduce((sum, count) => sum + count, 0) === size) found.push(counts);
      }
    const divisions = [...columns].map(([name, found]) => ({ name, kind: classifyDivision(name, found) }));
    return ["policy", "group"].flatMap((kind) => {
      const names = divisions.filter((one) => one.kind === kind).map(({ name }) => name);
      return names.length === 0 ? [] : describeDivisions(names, kind);
    });
  };
  return { add, listNotes };
};

/** @param groups how often each value of the column is in each group */
const classifyDivision = (name: string, groups: readonly (readonly number[])[]) => {
  const divisions = groups.reduce((sum, { length }) => sum + length - 1, 0);
  if (divisions === 0) return undefined;
  const [column = "", holder] = name.split(".").reverse();
  const isRead = holder === undefined || stepHolders.some((one) => one === holder);
  if (canNamePolicy(name) && (isRead || policyHolder.test(holder))) return "policy";
  if (!isRead || rolloutWords.test(name) || rolloutColumns.includes(column)) return undefined;
  const isEven = groups.every(([first = 0, ...more]) => first > 1 && more.length > 0 && more.every((n) => n === first));
  const isRepeated = groups.some((counts) => counts.length > 1 && counts.some((count) => count > 1));
  if (groupWords.test(name)) return isRepeated ? "group" : undefined;
  return isEven && (divisions >= minDivisions || idWords.test(name)) ? "group" : undefined;
};

const maxNamedColumns = 4;
const describeDivisions = (names: readonly string[], kind: string) => {
  // `--group-by` separates keys by commas.
  const key = names.find((name) => !name.includes(","));
  const ofGroup = key === undefined ? "rename it to group_id" : `pass --group-by ${formatCommandLine([key])}`;
  const advice = kind === "policy" ? "policy, write it to the column policy_version" : `group, ${ofGroup}`;
  return `groups contain rollouts that differ in ${formatList(names, maxNamedColumns)} (if it states the ${advice})`;
};
