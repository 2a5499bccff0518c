/** Finds rows of `log_completions` that TRL wrote to several tables, or that the reward function did not rate. */
import { hash } from "node:crypto";
import { dirname } from "node:path";
import type { Value } from "../messages/value.ts";
import { readPath } from "./build-trajectory.ts";
import type { Format, FormatRun, RecordFault, SourceRecord } from "./format.ts";
import { extendDigest } from "./turn-rows.ts";

/** True for a row of TRL's `log_completions`. */
export const isLogged = (row: Value) => row.has("step") && row.has("advantage") && !row.has("completions");

/** Parquet has NaN, or nothing, for a completion that a reward function did not rate. */
const isUnrated = ({ options: { rewardFrom, rewards } }: FormatRun, row: Value) => {
  if (rewards || rewardFrom === undefined || !isLogged(row)) return false;
  const value = readPath(row, rewardFrom);
  return !value || value.text === "NaN";
};

const unratedFault = "no row of the file has a number in the column of --reward-from";

/** TRL 1.7 and newer do not count a completion for which a reward function returned None. */
export const skipUnrated = (format: Format): Format => ({
  ...format,
  open: (run) => {
    const converter = format.open(run);
    /** The fault of a file until one of its rows is rated. */
    const faults = new Map<string, RecordFault | undefined>();
    return {
      ...converter,
      convert: (record) => {
        const { value, file, position } = record;
        const isRated = !isUnrated(run, value);
        const fault = isRated ? undefined : { file, position, group: "unrated", fault: unratedFault };
        if (isRated || !faults.has(file)) faults.set(file, fault);
        return isRated
          ? converter.convert(record)
          : run.skip(value, "a completion that the reward function did not rate");
      },
      findFaults: () => faults.values(),
    };
  },
});

interface LoggedTable {
  folder: string;
  step: number;
  last: number;
  /** Digests of the rows and of their prompts. */
  rows: number[];
  prompts: number[];
  ids: readonly string[];
}

/** Digests of columns are below this number, so a sum of two is exact. */
const digestRange = 2 ** 52;

/**
 * With several iterations for a batch, TRL 0.28 and newer write this batch again at each step.
 * An evaluation replaces only the first rows of the batch, so its table begins with the other rows.
 */
export const openTableIds = () => {
  const tables = new Map<string, LoggedTable>();
  let isComplete = false;
  const setIds = () => {
    const earlier = new Map<string, LoggedTable>();
    // The rows of a single table need no ids.
    const compared = tables.size < 2 ? [] : [...tables.values()].sort((a, b) => a.step - b.step);
    for (const table of compared) {
      const { folder, rows } = table;
      const before = earlier.get(folder);
      const repeated = before?.ids.slice(before.ids.length - countRepeated(before, table)) ?? [];
      const digest = hash("sha256", rows.join());
      table.ids = rows.map((_, at) => repeated[at] ?? `${folder} ${digest} ${at}`);
      earlier.set(folder, table);
    }
    isComplete = true;
  };
  return ({ value: row, file, position }: SourceRecord) => {
    if (!isLogged(row)) return undefined;
    const key = `${row.get("step")?.raw} ${file}`;
    const step = row.get("step")?.number ?? 0;
    const table = tables.get(key) ?? { folder: dirname(file), step, last: -1, rows: [], prompts: [], ids: [] };
    tables.set(key, table);
    if (position > table.last) addDigests(table, row);
    table.last = Math.max(table.last, position);
    const at = table.rows.length - 1;
    return () => {
      if (!isComplete) setIds();
      return table.ids[at];
    };
  };
};

/** Adds up the digests of the columns, because their order does not count. */
const addDigests = ({ rows, prompts }: LoggedTable, row: Value) => {
  let [sum, prompt] = [0, 0];
  for (const [name, { raw }] of row.members()) {
    if (name === "step") continue;
    const digest = extendDigest(extendDigest(0, name), raw);
    sum = (sum + digest) % digestRange;
    if (name === "prompt") prompt = digest;
  }
  rows.push(sum);
  prompts.push(prompt);
};

/** Returns how many first rows are the last of the table before, without a part of a prompt. */
const countRepeated = (before: LoggedTable, { rows, prompts }: LoggedTable) => {
  if (before.rows.length !== rows.length || !before.rows.includes(rows[0] ?? 0)) return 0;
  const last = new Map(prompts.map((prompt, at) => [prompt, at]));
  const ends: number[] = [];
  for (const prompt of prompts) ends.push(Math.max(ends.at(-1) ?? 0, (last.get(prompt) ?? 0) + 1));
  const borders = findBorders([...rows, Number.NaN, ...before.rows]);
  let count = borders.at(-1) ?? 0;
  while ((ends[count - 1] ?? 0) > count) count = borders[count - 1] ?? 0;
  return count;
};

/** Returns for each prefix the length of the longest shorter prefix that it ends with (Knuth, Morris, Pratt 1977). */
const findBorders = (digests: readonly number[]) => {
  const borders = [0];
  for (let at = 1, length = 0; at < digests.length; at++) {
    while (length > 0 && digests[at] !== digests[length]) length = borders[length - 1] ?? 0;
    if (digests[at] === digests[length]) length++;
    borders.push(length);
  }
  return borders;
};
