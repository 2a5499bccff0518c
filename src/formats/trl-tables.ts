/** Finds the rows that TRL wrote to several tables of `log_completions`. */
import { hash } from "node:crypto";
import { dirname } from "node:path";
import type { Value } from "../messages/value.ts";
import type { SourceRecord } from "./format.ts";

/** True for a row of TRL's `log_completions`. */
export const isLogged = (row: Value) => row.has("step") && row.has("advantage") && !row.has("completions");

interface LoggedTable {
  folder: string;
  step: number;
  last: number;
  /** Digests of the rows and of their prompts. */
  rows: string[];
  prompts: string[];
  ids: readonly string[];
}

/**
 * With several iterations for a batch, TRL 0.28 and newer write this batch again at each step.
 * An evaluation replaces only the first rows of the batch, so its table begins with the other rows.
 */
export const openTableIds = () => {
  const tables = new Map<string, LoggedTable>();
  let isComplete = false;
  const setIds = () => {
    const earlier = new Map<string, LoggedTable>();
    for (const table of [...tables.values()].sort((a, b) => a.step - b.step)) {
      const { folder, rows } = table;
      const before = earlier.get(folder);
      const repeated = before?.ids.slice(before.ids.length - countRepeated(before, table)) ?? [];
      const digest = hash("sha256", rows.join(""));
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
    if (position > table.last) {
      const values = row.members().flatMap(([name, { raw }]) => (name === "step" ? [] : `${name} ${raw}`));
      table.rows.push(hash("sha256", JSON.stringify(values.sort()), "binary"));
      table.prompts.push(hash("sha256", row.get("prompt")?.raw ?? "", "binary"));
      table.last = position;
    }
    const at = table.rows.length - 1;
    return () => {
      if (!isComplete) setIds();
      return table.ids[at] ?? "";
    };
  };
};

/** Returns the number of rows at the start that are the last rows of the table before. */
const countRepeated = (before: LoggedTable, { rows, prompts }: LoggedTable) => {
  if (before.rows.length !== rows.length) return 0;
  const isRepeated = (_: string, at: number) => {
    const count = rows.length - at;
    const others = new Set(prompts.slice(count));
    return (
      before.rows.slice(at).every((row, position) => row === rows[position]) &&
      prompts.slice(0, count).every((prompt) => !others.has(prompt))
    );
  };
  const start = rows.findIndex(isRepeated);
  return start < 0 ? 0 : rows.length - start;
};
