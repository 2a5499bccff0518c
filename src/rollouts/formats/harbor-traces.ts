/** Reads columns of `harbor traces export`, which has a row for each episode of a trial. */
import type { Value } from "../messages/value.ts";

/** Returns the number of the episode; undefined for a row of another writer. */
export const findEpisode = (row: Value) => {
  const [, number] = /^episode-(\d+)$/.exec(row.textAt("episode") ?? "") ?? [];
  const isNamed = row.has("trial_name") && row.textAt("trial_name") !== "unknown-trial";
  return number === undefined || !isNamed ? undefined : Number(number);
};

/** A subagent's row, such as that of a summary, has the result of its trial. */
export const isSubagent = (row: Value) => (row.textAt("trace_source") ?? "main") !== "main" && row.has("trial_name");

export const findTask = (row: Value) =>
  findEpisode(row) === undefined ? undefined : `${row.get("run_id")?.raw} ${row.get("task")?.raw}`;

/** Instead of a reward, a failed trial has the name of its exception. */
export const isException = (result: Value | undefined) =>
  /^(?:\w+\.)*(?!(?:True|False|None|NaN)$)[A-Z]\w*[a-z]\w*$/.test(result?.text ?? "");
