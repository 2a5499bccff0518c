import { readEffectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import {
  type CheckResult,
  collectDistributions,
  composeCheckResult,
  type Dataset,
  type Distributions,
} from "../../dataset/index.ts";
import { toWarningDocuments } from "../../failure.ts";
import { parseKeyText } from "../../index/group-key.ts";
import { readTries } from "../../options/input-options.ts";
import { printDocument, printObjects } from "../../output/index.ts";
import { noteWarnings } from "../../reading/print-problems.ts";
import { closeDatasetAtEnd, printInputNotes, readInputs } from "../../reading/read-inputs.ts";
import { pluralize } from "../../sentences.ts";
import { computeStats, type DatasetStats, isSolved } from "../../stats/index.ts";
import type { StatsCommandOptions } from "./command.ts";
import { openRows } from "./each-row.ts";
import type { SliceDocument, StatsDocument } from "./output.ts";
import { printStatsPage, sliceColumns } from "./stats-page.ts";

export const printStats = async (context: Context, typed: StatsCommandOptions) => {
  const { by, each } = typed;
  const rows = each && openRows(each, typed);
  const settings = await readEffectiveSettings(context, {});
  const measures = {
    by: by === "file" ? undefined : by,
    key: each === undefined ? undefined : (typed.groupBy ?? ["group_id"]),
  };
  const request = { settings, typed, label: "reading", skipsDigests: true, measures, continuesAfterErrors: true };
  const dataset = await readInputs(context, request);
  closeDatasetAtEnd(context, dataset);
  printInputNotes(context, dataset, typed);
  const result = composeCheckResult(dataset);
  if (rows) await rows.print(context, dataset, toWarningDocuments(result.problems));
  else {
    const tries = readTries(typed.k);
    const splitBy = by === undefined ? undefined : by === "file" ? "file" : "key";
    const stats = computeStats(dataset, { pass: typed.pass, tries, by: splitBy });
    noteStats(context, dataset, stats, typed);
    await printResult(context, stats, { by, result, distributions: () => collectDistributions(dataset) });
  }
  noteWarnings(context, dataset, "the input");
  if (result.failure) throw result.failure;
};

const noteStats = (
  { screen }: Context,
  dataset: Dataset,
  { whole, byValue }: DatasetStats,
  typed: StatsCommandOptions,
) => {
  const { reward, solved, exceptions } = whole;
  if (exceptions > 0)
    screen.notice(
      `${pluralize(exceptions, "exception")} without a reward: means, solved groups and pass@k leave exceptions out`,
    );
  if (reward && solved && !isSolved(reward.max, solved.at))
    screen.notice(`no reward reaches ${solved.at} (the highest is ${reward.max}), so no group is solved: set --pass`);
  const withoutKey = byValue.find(({ value }) => value === undefined);
  if (typed.by !== undefined && withoutKey && byValue.length === 1 && dataset.groups.count > 0)
    screen.notice(`no trajectory has the key ${typed.by}`);
};

interface PrintedFacts {
  readonly by: string | undefined;
  readonly result: CheckResult;
  readonly distributions: () => Distributions;
}

const printResult = async (
  { screen }: Context,
  { whole, byValue }: DatasetStats,
  { by, result: { unreadable, filteredOut, problems }, distributions }: PrintedFacts,
) => {
  const slices = byValue.map(({ value, stats }): SliceDocument => ({ value: parseKeyText(value), ...stats }));
  if (screen.format === "table")
    return await printStatsPage(screen, { whole, slices, by, rewards: distributions().rewards });
  if (!screen.isForProgram) {
    const rows = by === undefined ? [{ value: null, ...whole }] : slices;
    return await printObjects(screen, { data: rows }, { member: "data", columns: sliceColumns(by, whole) });
  }
  await printDocument<StatsDocument>(screen, {
    ...whole,
    by: slices,
    unreadable_lines: unreadable || undefined,
    not_chosen: filteredOut,
    warnings: toWarningDocuments(problems),
    notes: screen.notices,
  });
};
