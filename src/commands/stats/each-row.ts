/** Prints a row for each group or trajectory, for `stats --each`. */
import { type Problem, toWarningDocuments } from "../../failure.ts";
import type { JsonObject } from "../../json/raw-json.ts";
import { findColumn } from "../../output/json-fields.ts";
import { printObjects } from "../../output/list.ts";
import type { Screen } from "../../output/screen.ts";
import { noteSelection, parseOrder, rankColumns, sortRows } from "../../output/sort-rows.ts";
import type { KeyColumn } from "../../output/views.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { facts, groupFacts } from "../../rollouts/facts.ts";
import * as stats from "../../rollouts/stats/fact-rows.ts";
import type { Context } from "../../session/context.ts";
import { pluralize } from "../../text/sentences.ts";
import type { StatsCommandOptions } from "./command.ts";
import { numbers } from "./slice-columns.ts";

/** @throws Failure `input-changed`; `invalid-option-value` for a name that is no column and no key of a row */
export const printRows = async (
  { screen, host: { signal } }: Context,
  dataset: Dataset,
  typed: StatsCommandOptions,
  problems: readonly Problem[],
) => {
  const { sort, limit, pass, exceptionsAs, groupBy } = typed;
  const isByGroup = typed.each === "group";
  const columns = selectRowColumns(typed.each);
  const sorted = new Set(sort.map((name) => name.replace(/^-/, "")));
  /** Keys of the input, such as a step. */
  const names = [...sorted].filter((name) => findColumn(name, columns) === undefined);
  const all: JsonObject[] = [];
  const keysOf = new WeakMap<JsonObject, ReadonlyMap<string, unknown>>();
  const known = new Set<string>();
  const listRows = isByGroup ? stats.listGroupRows : stats.listTrajectoryRows;
  for await (const { row, keys } of listRows(dataset, { pass, exceptionsAs, groupBy, names, signal })) {
    all.push(row);
    if (names.length > 0) keysOf.set(row, keys);
    for (const name of keys.keys()) known.add(name);
  }
  const keyColumns = names.flatMap((name) =>
    known.has(name) || all.length === 0
      ? [{ name, rank: 0, value: (row: JsonObject) => keysOf.get(row)?.get(name) }]
      : [],
  );
  const order = parseOrder(sort, [...columns, ...keyColumns]);
  const data = (await sortRows(all, order, signal)).slice(0, limit);
  noteSelection(screen, { all, matching: all, shown: data }, isByGroup ? "groups" : "trajectories");
  if (!isByGroup) noteExceptions(screen, dataset, exceptionsAs);
  const document = { data, warnings: toWarningDocuments(problems), notes: screen.notices };
  await printObjects(screen, document, { member: "data", columns: rankColumns(columns, order) });
};

/** An exception has no facts of its own. */
const noteExceptions = (screen: Screen, { groups }: Dataset, exceptionsAs: number | undefined) => {
  let exceptions = 0;
  for (const group of groups.valid()) exceptions += groups.exceptionsOf(group);
  if (exceptions === 0) return;
  const ofAdvantages = exceptionsAs === undefined ? "" : ", and advantages do not count them";
  screen.notice(`${pluralize(exceptions, "exception")} without a row${ofAdvantages}: --each group counts exceptions`);
};

const place = [
  { name: "file", rank: 0 },
  { name: "line", rank: 0, align: "right" },
  { name: "key", rank: 4 },
  { name: "prompt", rank: 9 },
] as const;

const headingOf = (name: string) => name.replaceAll("_", " ");

const trajectoryColumns: readonly KeyColumn<JsonObject>[] = [
  ...place,
  ...facts.map(({ name, type, ranks: [rank] }) => {
    const isNumber = type === "number" || type === "count";
    return { name, heading: headingOf(name), rank, ...(isNumber && numbers) };
  }),
  { name: "trajectory", rank: 1, align: "right" },
];

const [reward, ...otherColumns] = groupFacts.map(({ name, ranks: [rank, ofGroup = rank] }) => ({
  name,
  heading: headingOf(name),
  rank: ofGroup,
  ...numbers,
}));

const groupColumns: readonly KeyColumn<JsonObject>[] = [
  ...place,
  { name: "trajectories", rank: 2, ...numbers },
  { name: "exceptions", rank: 8, ...numbers },
  ...(reward ? [reward] : []),
  { name: "std_dev", heading: "std dev", rank: 1, ...numbers },
  ...otherColumns,
];

export const selectRowColumns = (each: StatsCommandOptions["each"]) =>
  each === "group" ? groupColumns : trajectoryColumns;
