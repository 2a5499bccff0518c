/** Finds rows of `log_completions` that TRL wrote to several tables, or that the reward function did not rate. */
import { dirname } from "node:path";
import type { Value } from "../../json/value.ts";
import { readPath } from "./build-trajectory.ts";
import type { Format, FormatRun, SourceRecord } from "./format.ts";
import { extendDigest } from "./rollout-parts.ts";

/** True for a row of TRL's `log_completions`. */
export const isLogged = (row: Value) => row.has("step") && row.has("advantage") && !row.has("completions");

/** Parquet has NaN, or nothing, for a completion that a reward function did not rate. */
const isUnrated = ({ options: { rewardFrom, rewards } }: FormatRun, row: Value) => {
  if (rewards || rewardFrom === undefined || !isLogged(row)) return false;
  const value = readPath(row, rewardFrom);
  return !value || value.text === "NaN";
};

/**
 * Adds ids to logged rows, and leaves out rows that were not rated: TRL 1.7 and newer do not count a completion for
 * which a reward function returned None.
 */
export const readTables = (format: Format): Format => ({
  ...format,
  open: (run) => {
    const converter = format.open(run);
    const ids = openTableIds();
    /** The files with a rated row. In other files, `--reward-from` can be wrong. */
    const ratedFiles = new Set<string>();
    return {
      ...converter,
      preview: (record) => {
        if (!isUnrated(run, record.value)) ratedFiles.add(record.file);
        const needsIds = ids.preview(record);
        return converter.preview?.(record) === true || needsIds;
      },
      convert: (record) => {
        if (ratedFiles.has(record.file) && isUnrated(run, record.value))
          return run.skip("a completion that the reward function did not rate");
        record.id = ids.find(record);
        return converter.convert(record);
      },
    };
  },
});

/**
 * With several iterations for a batch, TRL 0.28 and newer write the table of the batch again at each step. So rows have
 * one id in all tables of a folder with equal rows.
 */
const openTableIds = () => {
  const tables = new Map<string, { first: number; digest: number }>();
  const keyOf = ({ value, file }: SourceRecord) => `${value.get("step")?.raw} ${file}`;
  return {
    preview: (record: SourceRecord) => {
      const { value: row, position } = record;
      if (!isLogged(row)) return false;
      const { first, digest } = tables.get(keyOf(record)) ?? { first: position, digest: 0 };
      tables.set(keyOf(record), { first, digest: digestRow(row, digest) });
      return true;
    },
    find: (record: SourceRecord) => {
      const table = tables.get(keyOf(record));
      return table && `${dirname(record.file)} ${table.digest} ${record.position - table.first}`;
    },
  };
};

/** The order of the columns does not count. */
const digestRow = (row: Value, before: number) => {
  const columns = row.members().filter(([name]) => name !== "step");
  return extendDigest(
    before,
    columns
      .map(([name, { raw }]) => `${name} ${raw}`)
      .sort()
      .join(),
  );
};
