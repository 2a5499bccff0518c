/** Lists trajectories and groups as rows with the keys of `rollcall stats --each`. */

import { Failure } from "../../failure.ts";
import { Breaks } from "../../system/breaks.ts";
import { findNearest } from "../../text/nearest.ts";
import { formatList, formatSuggestion } from "../../text/sentences.ts";
import { type IndexedGroups, locateTrajectory } from "../dataset/locate.ts";
import { listKeys, openRowReader, type WantedKeys } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { type FactRow, groupFacts, mapFacts, readFacts } from "../facts.ts";
import type { FactColumns } from "../index/fact-columns.ts";
import { isSolved } from "../index/metrics.ts";
import { meanOfFinite, pickFinite, standardDeviation } from "../index/sums.ts";
import { countTries, type StatsOptions, withExceptions } from "./stats-slice.ts";

export interface RowListOptions extends WantedKeys, Pick<StatsOptions, "pass" | "exceptionsAs"> {
  readonly signal: AbortSignal;
}

/** Yields a row for each valid group, with the values of `names`. @throws Failure `input-changed` */
export async function* listGroupRows(dataset: Dataset, { pass, exceptionsAs, signal, ...wanted }: RowListOptions) {
  const readRow = openRowReader(dataset, wanted);
  const breaks = new Breaks(signal);
  for (const group of dataset.groups.valid()) {
    if (breaks.isDue(bytesPerRow + 1000 * dataset.groups.trajectoriesOf(group))) await breaks.take();
    const rows = readGroupFacts(dataset, group, pass);
    const exceptions = dataset.groups.exceptionsOf(group);
    const rewards = withExceptions(readGroupRewards(dataset, group), exceptions, exceptionsAs);
    const finite = pickFinite(rewards);
    const part = dataset.groups.firstOf(group);
    const position = await locateTrajectory(dataset, part, 0);
    const { keys, key, prompt } = readRow(part, 0);
    const row = {
      ...position,
      key,
      prompt,
      trajectories: rows.length,
      exceptions,
      reward: meanOfFinite(finite),
      std_dev: finite.length === 0 ? null : standardDeviation(finite),
      solved: countTries(rewards, pass).solved,
      ...summarizeFacts(rows),
    };
    yield { row, keys };
  }
}

const countFacts = groupFacts.filter(({ type }) => type === "count");

const summarizeFacts = (rows: readonly FactRow[]) =>
  mapFacts(countFacts, ({ name, inGroup }) => {
    const values = rows.flatMap(({ counts }) => counts[name] ?? []);
    return inGroup === "mean" ? meanOfFinite(values) : values.reduce((sum, value) => sum + value, 0);
  });

/** Yields a row for each valid trajectory, with its number in its group. @throws Failure `input-changed` */
export async function* listTrajectoryRows(dataset: Dataset, { pass, signal, ...wanted }: RowListOptions) {
  const readRow = openRowReader(dataset, wanted);
  const breaks = new Breaks(signal);
  for (const group of dataset.groups.valid()) {
    const read = openFactReader(dataset, group, pass);
    let trajectory = 0;
    for (const part of dataset.groups.partsOf(group)) {
      for (const [at, row] of dataset.scan.parts.rowsOf(part).entries()) {
        if (breaks.isDue(bytesPerRow)) await breaks.take();
        const position = await locateTrajectory(dataset, part, at);
        const { keys, key, prompt } = readRow(part, at);
        trajectory++;
        yield { row: { ...position, key, prompt, ...readFacts(read(row)), trajectory }, keys };
      }
    }
  }
}

/** Reading the prompt and the position of a row costs as much as reading this many bytes. */
const bytesPerRow = 2 ** 14;

/** Expects a dataset that was read with `measures`. */
export const getFacts = ({ scan: { parts } }: IndexedGroups): FactColumns => {
  if (!parts.facts) throw new Error("the trajectories were not measured");
  return parts.facts;
};

/** Expects a dataset that was read with the values of `by`. @throws Failure `key-missing` if no group has the key */
export const requireKey = (dataset: Dataset, by: string, where = "") => {
  const { facts } = dataset.scan.parts;
  if (!facts || facts.rows === 0 || facts.by.names.list.length > 0) return;
  const keys = listKeys(dataset);
  const near = findNearest(by, keys);
  const known = keys.length === 0 ? "" : ` (such as ${formatList(keys, 8)})`;
  const message = `no trajectory has a value for the key ${by}${where && ` ${where}`}`;
  throw new Failure(
    "invalid_input",
    "key-missing",
    message,
    formatSuggestion(near, `pass a key of the trajectories${known}`),
  );
};

export interface RolloutFact extends FactRow {
  /** The value of `--by` as JSON. */
  readonly by: string | undefined;
}

/** Returns the rewards of a group's trajectories. Expects a valid group. */
export const readGroupRewards = (dataset: IndexedGroups, group: number) =>
  getFacts(dataset).reward.pick(dataset.groups.rowsOf(group));

/** Returns a function that reads the facts of a trajectory of the group. @param pass default: 1 */
export const openFactReader = (dataset: IndexedGroups, group: number, pass?: number) => {
  const facts = getFacts(dataset);
  const mean = meanOfFinite(readGroupRewards(dataset, group));
  return (row: number): RolloutFact => {
    const reward = facts.reward.at(row);
    return { reward, mean, isSolved: isSolved(reward, pass), by: facts.by.at(row), ...facts.at(row) };
  };
};

/** Returns the facts of a group's trajectories; none if the group is invalid. @param pass default: 1 */
export const readGroupFacts = (dataset: IndexedGroups, group: number, pass?: number): readonly RolloutFact[] =>
  dataset.groups.isValid(group) ? dataset.groups.rowsOf(group).map(openFactReader(dataset, group, pass)) : [];
