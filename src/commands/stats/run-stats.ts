/** Runs `rollcall stats`. */
import { toWarningDocuments } from "../../failure.ts";
import { toRawJson } from "../../json/raw-json.ts";
import { findColumn } from "../../output/json-fields.ts";
import { checkKeys, printDocument, printList } from "../../output/list.ts";
import { requirePage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import { noteSelection, parseOrder, sortRows } from "../../output/sort-rows.ts";
import { type CheckResult, composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { findDivisions } from "../../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { lengthNames } from "../../rollouts/facts.ts";
import { parseKeyText } from "../../rollouts/index/group-key.ts";
import { isSolved } from "../../rollouts/index/metrics.ts";
import { requireKey } from "../../rollouts/stats/fact-rows.ts";
import { computeStats, type DatasetStats } from "../../rollouts/stats/stats-slices.ts";
import type { Context } from "../../session/context.ts";
import { readTries } from "../../session/options.ts";
import { noteWarnings, skipInvalidGroups } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import type { StatsCommandOptions } from "./command.ts";
import { printRows, selectRowColumns } from "./each-row.ts";
import { type SliceDocument, sliceColumns, toColumnValues, toTableColumns, toValueColumns } from "./slice-columns.ts";
import { printStatsPage } from "./stats-page.ts";

const documentKeys = [
  ...["groups", "trajectories", "exceptions", "reward", "solved", "finish_reasons", ...lengthNames, "tools", "metrics"],
  ...["by", "value", "unreadable_lines", "warnings", "notes"],
];

export const printStats = async (context: Context, typed: StatsCommandOptions) => {
  const { by, each } = typed;
  const { screen } = context;
  const columns = each ? selectRowColumns(each) : sliceColumns(by, readTries(typed.k));
  checkKeys(screen, [...(each ? [] : documentKeys), ...columns.map(({ name }) => name)]);
  if (!each && by === undefined) requirePage(screen);
  const measures = { by: by === "file" ? undefined : by };
  const needs = { label: "reading", skipsDigests: true, measures, continuesAfterErrors: true };
  const dataset = await readRollouts(context, typed, needs);
  if (measures.by !== undefined) requireKey(dataset, measures.by);
  const result = composeCheckResult(dataset);
  const failure = skipInvalidGroups(context, result, typed);
  if (each) await printRows(context, dataset, typed, result.problems);
  else {
    const { pass, exceptionsAs } = typed;
    const { signal } = context.host;
    const stats = await computeStats(dataset, { pass, exceptionsAs, tries: readTries(typed.k), by, signal });
    const isPage = by === undefined && !screen.fields && (screen.format === "table" || screen.format === "tsv");
    noteStats(context, stats, typed);
    if (by === undefined) noteDivisions(screen, dataset);
    if (isPage) await printStatsPage(screen, stats);
    else await printResult(context, stats, { typed, result });
  }
  noteWarnings(context, [dataset], typed);
  if (failure) throw failure;
};

/** A mean over several steps or environments can be that of none. */
const noteDivisions = (screen: Screen, dataset: Dataset) => {
  const names = findDivisions(dataset);
  if (names.length === 0) return;
  const advice = names.map((name) => formatCommandLine(["--by", name])).join(" or ");
  screen.notice(`one mean is over several values of ${names.join(" and ")}: to compare them, pass ${advice}`);
};

const noteStats = ({ screen }: Context, { whole }: DatasetStats, typed: StatsCommandOptions) => {
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
};

const printResult = async (
  { screen, host }: Context,
  { whole, byValue }: DatasetStats,
  { typed, result: { unreadable, problems } }: { typed: StatsCommandOptions; result: CheckResult },
) => {
  const { by } = typed;
  const { fields, format } = screen;
  const all = byValue.map(({ value, stats }): SliceDocument => ({ value: parseKeyText(value), ...stats }));
  const columns = sliceColumns(by, readTries(typed.k));
  const slices = (await sortRows(all, parseOrder(typed.sort, columns), host.signal)).slice(0, typed.limit);
  if (by !== undefined) noteSelection(screen, { all, matching: all, shown: slices }, `values of ${by}`);
  // In JSON, names are keys.
  const names = format === "json" ? fields : fields?.map((name) => findColumn(name, columns)?.name ?? name);
  const areColumns = by !== undefined && names?.every((name) => columns.some((column) => column.name === name));
  if (!screen.isJson || areColumns) {
    const rows = by === undefined ? [{ value: null, ...whole }] : slices;
    const values = rows.map((row) => toColumnValues(columns, row));
    const isTable = by !== undefined && format === "table";
    return await printList(screen, {
      columns: isTable ? toTableColumns(columns, fields !== undefined) : toValueColumns(columns, by),
      rows,
      json: { document: toRawJson({ by: values, notes: screen.notices }), member: "by" },
      fields: names,
    });
  }
  await printDocument(screen, {
    ...whole,
    by: slices,
    unreadable_lines: unreadable || undefined,
    warnings: toWarningDocuments(problems),
    notes: screen.notices,
    ...(fields &&
      toColumnValues(
        columns.filter(({ isDerived }) => isDerived),
        { value: null, ...whole },
      )),
  });
};
