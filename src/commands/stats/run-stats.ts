/** Runs `rollcall stats`. */
import { toWarningDocuments } from "../../failure.ts";
import { toRawJson } from "../../json/raw-json.ts";
import { printDocument, printList, printObjects } from "../../output/list.ts";
import { noteSelection, parseOrder, sortRows } from "../../output/lists/sort-rows.ts";
import { requirePage } from "../../output/page.ts";
import { findColumn } from "../../output/wire.ts";
import { type CheckResult, composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { parseKeyText } from "../../rollouts/index/group-key.ts";
import { isSolved } from "../../rollouts/index/metrics.ts";
import { computeStats, type DatasetStats } from "../../rollouts/stats/stats-slices.ts";
import type { Context } from "../../session/context.ts";
import { readTries } from "../../session/options/input-options.ts";
import { noteWarnings, skipInvalidGroups } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import { pluralize } from "../../text/sentences.ts";
import type { StatsCommandOptions } from "./command.ts";
import { printRows } from "./each-row.ts";
import type { SliceDocument, StatsDocument } from "./output.ts";
import { markChanges, selectTableColumns, sliceColumns, toColumnValues } from "./slice-columns.ts";
import { printStatsPage } from "./stats-page.ts";

export const printStats = async (context: Context, typed: StatsCommandOptions) => {
  const { by, each } = typed;
  if (!each && by === undefined) requirePage(context.screen);
  const measures = { by: by === "file" ? undefined : by };
  const needs = { label: "reading", skipsDigests: true, measures, continuesAfterErrors: true };
  const dataset = await readRollouts(context, typed, needs);
  const result = composeCheckResult(dataset);
  const failure = skipInvalidGroups(context, result, { ...typed, input: "the input" });
  if (each) await printRows(context, dataset, typed, result.problems);
  else {
    const { pass, exceptionsAs } = typed;
    const { signal } = context.host;
    const stats = await computeStats(dataset, { pass, exceptionsAs, tries: readTries(typed.k), by, signal });
    noteStats(context, dataset, stats, typed);
    await printResult(context, stats, { typed, result, rewards: dataset.scan.rewards });
  }
  noteWarnings(context, dataset, "the input");
  if (failure) throw failure;
};

const noteStats = (
  { screen }: Context,
  dataset: Dataset,
  { whole, byValue }: DatasetStats,
  typed: StatsCommandOptions,
) => {
  const { reward, solved, exceptions } = whole;
  const counted = pluralize(exceptions, "exception");
  if (exceptions > 0 && typed.exceptionsAs === undefined)
    screen.notice(`${counted} without a reward: means, solved groups and pass@k leave exceptions out`);
  else if (exceptions > 0)
    screen.notice(`means, solved groups and pass@k count ${counted} with the reward ${typed.exceptionsAs}`);
  if (reward && solved && !isSolved(reward.max, solved.at))
    screen.notice(`no reward reaches ${solved.at} (the highest is ${reward.max}), so no group is solved: set --pass`);
  if (reward && solved && solved.at > 0 && reward.min >= 2 * solved.at)
    screen.notice(
      `each reward is far above ${solved.at} (the lowest is ${reward.min}), so each group is solved: set --pass`,
    );
  const withoutKey = byValue.find(({ value }) => value === undefined);
  if (typed.by !== undefined && withoutKey && byValue.length === 1 && dataset.groups.count > 0)
    screen.notice(`no trajectory has the key ${typed.by}`);
};

type PrintedFacts = Readonly<{ typed: StatsCommandOptions; result: CheckResult; rewards: Dataset["scan"]["rewards"] }>;

const printResult = async (
  { screen, host }: Context,
  { whole, byValue }: DatasetStats,
  { typed, result: { unreadable, filteredOut, problems }, rewards }: PrintedFacts,
) => {
  const { by } = typed;
  const { fields, format } = screen;
  if (by === undefined && !fields && (format === "table" || format === "tsv"))
    return await printStatsPage(screen, whole, rewards);
  const all = byValue.map(({ value, stats }): SliceDocument => ({ value: parseKeyText(value), ...stats }));
  const columns = sliceColumns(by, whole, markChanges(all));
  const slices = (await sortRows(all, parseOrder(typed.sort, columns), host.signal)).slice(0, typed.limit);
  if (by !== undefined) noteSelection(screen, { all, matching: all, shown: slices }, `values of ${by}`);
  const areColumns = by !== undefined && (fields ?? []).every((name) => findColumn(name, columns));
  if (areColumns && format === "table")
    return await printList(screen, {
      columns: selectTableColumns(columns, fields),
      rows: slices,
      wire: { document: toRawJson({ by: slices, notes: screen.notices }), member: "by" },
    });
  if (!screen.isForProgram || (fields && areColumns)) {
    const rows = by === undefined ? [{ value: null, ...whole }] : slices;
    const values = rows.map((row) => toColumnValues(columns, row));
    const named = columns.map(({ name, heading = name, rank }) => ({ name, heading, rank }));
    return await printObjects(screen, { by: values, notes: screen.notices }, { member: "by", columns: named });
  }
  await printDocument<StatsDocument>(screen, {
    ...whole,
    by: slices,
    unreadable_lines: unreadable || undefined,
    not_chosen: filteredOut,
    warnings: toWarningDocuments(problems),
    notes: screen.notices,
    ...(fields &&
      toColumnValues(
        columns.filter(({ hasKey }) => hasKey === false),
        { value: null, ...whole },
      )),
  });
};
