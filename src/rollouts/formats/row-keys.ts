/** Finds the columns that state the group, the rollout and the policy of a row. */

import { hash } from "node:crypto";
import { unwrap } from "../../conversation/apis/openai.ts";
import { formatCanonically, formatSaid } from "../../conversation/prompt.ts";
import { type Json, rawOf } from "../../json/output-json.ts";
import { type Members, Value } from "../../json/value.ts";
import { formatList } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import {
  canNamePolicy,
  columns,
  groupKeyNames,
  groupWords,
  idWords,
  isPolicyColumn,
  policyHolder,
  rolloutColumns,
  rolloutWords,
  stepHolders,
} from "../rules/names.ts";
import type { FormatRun, RowTurns, SourceRecord } from "./format.ts";

const listHolders = (row: Value) =>
  row.facts(columns).holders.map((name) => [`${name}.`, unwrap(row.require(name))] as const);

/** Returns the value of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const [prefix, holder] of [["", row] as const, ...listHolders(row)])
    for (const key of holder.facts(columns).steps) {
      const value = holder.require(key);
      // Writers such as pandas write the same number in several spellings.
      if (value.isScalar) steps.set(`${prefix}${key}`, formatCanonically(value));
    }
  return steps;
};

/** More rows do not show that a column begins again. */
const maxCountedRows = 64;

/**
 * Finds step columns that number turns: they begin again, and each other value follows that of a row with other
 * messages.
 * @param prompt the column of the prompt, if the answer does not begin with it
 */
const openTurnColumns = (prompt: string | undefined) => {
  const open = new Map<string, { readonly first: number; last: number }>();
  const found = new Set<string>();
  let saidBefore: string | undefined;
  return {
    preview: ({ value, file, position }: SourceRecord) => {
      if (position === 0) open.clear();
      else if (open.size === 0) return false;
      const messages = unwrap(value.get("messages"))?.items() ?? [];
      const said = prompt === undefined ? messages.slice(0, -1).map(rawOf).join() : value.get(prompt)?.raw;
      for (const [path, text] of readSteps(value)) {
        const number = Number(text);
        if (position === 0) open.set(path, { first: number, last: number });
        const column = open.get(path);
        if (!column) continue;
        const isNext = number - 1 === column.last && said !== saidBefore;
        if (number < column.last) found.add(`${path} ${file}`);
        if (number !== column.first && !isNext) {
          open.delete(path);
          found.delete(`${path} ${file}`);
        }
        column.last = number;
      }
      saidBefore = said;
      return open.size > 0 && position < maxCountedRows;
    },
    readSteps: ({ value, file }: SourceRecord) => {
      const steps = readSteps(value);
      return found.size === 0 ? steps : new Map([...steps].filter(([path]) => !found.has(`${path} ${file}`)));
    },
  };
};

/** Returns the step columns in objects of the row, which become metadata. */
export const listInnerSteps = (row: Value): Members =>
  listHolders(row).flatMap(([, holder]) =>
    holder.facts(columns).steps.flatMap((key) => {
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

export const findRolloutId = (row: Value) => {
  for (const holder of [row, ...listHolders(row).map(([, value]) => value)])
    for (const column of holder.facts(columns).rollouts) {
      const value = holder.require(column);
      if (value.isScalar) return `${column} ${formatCanonically(value)}`;
    }
  return undefined;
};

/** @param prompt the column of the prompt, if the answer does not begin with it */
export const readTurns = (
  row: Value,
  { prompt: promptKey = "", answer }: { prompt?: string | undefined; answer: string },
  id = findRolloutId(row),
): RowTurns => {
  const [prompt = [], sampled = []] = [promptKey, answer].map((key) => {
    const given = row.get(key);
    const turns = unwrap(given);
    return turns?.isList ? turns.items() : given?.text;
  });
  return { prompt, sampled, id };
};

export const findTurnNumber = (row: Value) => {
  const [column] = row.facts(columns).turns;
  return column === undefined ? undefined : formatCanonically(row.require(column));
};

const findKey = (row: Value) => {
  const found = [row, row.get("metadata")].flatMap((holder) => holder?.facts(columns).groups ?? []);
  const name = groupKeyNames.find((one) => found.includes(one));
  const value = name && (row.get(name) ?? row.get("metadata", name));
  return value && `${name} ${formatCanonically(value)}`;
};

/** Writers put the rollouts of a prompt into one batch. */
const maxUids = 10_000;

type RowKeys = Readonly<{ prompt?: string; findGroup?(row: Value): string | undefined }>;

/**
 * A uid, the last group key, names a group if rows of its file share it. Otherwise, it names the row.
 * A step column divides groups unless it numbers turns.
 */
export const openRowKeys = ({ prompt, findGroup = () => undefined }: RowKeys) => {
  const isUid = (key: string | undefined) => key?.startsWith("uid ") === true;
  const seen = new Set<string>();
  const filesWithShared = new Set<string>();
  const turns = openTurnColumns(prompt);
  const previewUid = ({ value, file, position }: SourceRecord) => {
    const key = findGroup(value) ?? findKey(value);
    if (position === 0) seen.clear();
    if (key === undefined || !isUid(key) || seen.size === maxUids) return false;
    if (seen.has(key)) filesWithShared.add(file);
    seen.add(key);
    return !filesWithShared.has(file);
  };
  return {
    readSteps: turns.readSteps,
    preview: (record: SourceRecord) => {
      const needsUids = previewUid(record);
      return turns.preview(record) || needsUids;
    },
    find: ({ value, file }: SourceRecord) => {
      const key = findGroup(value) ?? findKey(value);
      return isUid(key) && !filesWithShared.has(file) ? undefined : key;
    },
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

/** Returns texts and lists next to a prompt that can be a part of it. @param divides true if they divide groups */
export const listContext = (run: FormatRun, row: Value, prompt: readonly Json[], divides: boolean) => {
  const { context } = row.facts(columns);
  if (context.length === 0) return [];
  const said = prompt.map(rawOf).join();
  return context.flatMap((name) => {
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

const maxComparedRows = 1024;
const maxComparedLength = 256;
/** Fewer divisions by a column that names no group can be chance. */
const minDivisions = 5;

type Counts = Map<string, number>;

/** Finds columns that divide groups that no recorded id states. */
export const openDivisions = (usedKeys: readonly (string | undefined)[]) => {
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
