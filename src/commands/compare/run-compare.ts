/** Compares two runs, and decides the exit code. */
import { Failure, toWarningDocuments } from "../../failure.ts";
import { checkKeys, printDocument, printObjects } from "../../output/list.ts";
import type { Screen } from "../../output/screen.ts";
import { composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { formatTrajectoryPosition } from "../../rollouts/dataset/locate.ts";
import { readPairPromptAndKey } from "../../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { formatKeyText } from "../../rollouts/index/group-key.ts";
import { type Compared, type Comparison, compareDatasets } from "../../rollouts/stats/compare.ts";
import { readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { readTries } from "../../session/options.ts";
import { checkReport } from "../../session/output-files.ts";
import { adviseToCheck, explainWithExcerpts, noteWarnings, skipInvalidGroups } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import { conflictingOptions } from "../../system/failures.ts";
import { formatList, pluralize } from "../../text/sentences.ts";
import { formatForDisplay } from "../../text/units.ts";
import type { CompareOptions } from "./command.ts";
import { type ChangedPair, type CompareDocument, documentKeys, listRows, rowColumns } from "./compare-document.ts";
import { printComparePage } from "./compare-page.ts";
import type { ReportedComparison } from "./compare-report.ts";
import { explainOverflow, isRegression } from "./verdict.ts";

export const printComparison = async (context: Context, typed: CompareOptions) => {
  const { screen } = context;
  checkKeys(screen, documentKeys);
  if (typed.a === "-" && typed.b === "-")
    throw conflictingOptions("<a> -", "<b> -", "standard input is a single input");
  checkReport(screen, typed.report);
  const datasets = await readBoth(context, typed).catch(async (thrown: unknown) => {
    if (thrown instanceof Failure && thrown.code === "invalid_input")
      await reportComparison(screen, { typed, failure: thrown });
    throw thrown;
  });
  const measured = { ...typed, tries: readTries(typed.k), signal: context.host.signal };
  const comparison = await compareDatasets(datasets.a, datasets.b, measured);
  const { compared } = comparison;
  noteExceptions(context, compared, typed);
  notePairs(context, comparison, typed);
  for (const text of listSteps(comparison, typed)) screen.notice(`${text}. Put each value into its own file`);
  const results = [composeCheckResult(datasets.a), composeCheckResult(datasets.b)];
  const [failure, ...others] = results.flatMap(
    (result, at) => skipInvalidGroups(context, result, selectSide(typed, at === 0 ? "a" : "b")) ?? [],
  );
  // The error shows the problems of one input.
  if (others.length > 0) screen.notice(`${typed.b} has errors, too (${adviseToCheck(selectSide(typed, "b"))})`);
  const problems = results.flatMap((result) => result.problems);
  const document: CompareDocument = {
    ...compared,
    changed: await describePairs(datasets, comparison, typed),
    warnings: toWarningDocuments(problems),
    notes: screen.notices,
  };
  if (typed.report === undefined) await printResult(screen, document, typed);
  for (const side of sides) noteWarnings(context, datasets[side], selectSide(typed, side));
  await reportComparison(screen, { typed, failure, document, problems });
  if (failure) {
    explainWithExcerpts(context, results[0]?.failure ? datasets.a : datasets.b);
    throw failure;
  }
  if (typed.exitCode) requireEqual(compared, typed);
};

const sides = ["a", "b"] as const;
type Datasets = Readonly<Record<"a" | "b", Dataset>>;

const readBoth = async (context: Context, typed: CompareOptions): Promise<Datasets> => {
  const settings = await readEffectiveSettings(context, {});
  const measures = { hasTasks: true, by: typed.pairBy };
  const read = async (side: "a" | "b") => {
    const file = typed[side];
    const needs = { settings, skipsDigests: true, measures, continuesAfterErrors: true, subject: file };
    return await readRollouts(context, selectSide(typed, side), { ...needs, label: `reading ${file}` });
  };
  return { a: await read("a"), b: await read("b") };
};

/** Returns the options of a command for one input. */
const selectSide = (typed: CompareOptions, side: "a" | "b") => ({ ...typed, file: [typed[side]] });

const printResult = async (screen: Screen, document: CompareDocument, typed: CompareOptions) => {
  if (screen.format === "table" && !screen.fields) await printComparePage(screen, document, typed);
  else if (screen.isForProgram) await printDocument(screen, document);
  else {
    await printObjects(screen, { data: listRows(document) }, { member: "data", columns: rowColumns });
  }
};

const reportComparison = async (screen: Screen, comparison: ReportedComparison) => {
  if (comparison.typed.report === undefined) return;
  const { printComparisonReport } = await import("./compare-report.ts");
  await printComparisonReport(screen, comparison);
};

const noteExceptions = ({ screen }: Context, { a, b, failed_a, failed_b }: Compared, typed: CompareOptions) => {
  const counts = `${pluralize(a.exceptions, "exception")} in a and ${b.exceptions} in b`;
  if (a.exceptions + b.exceptions > 0 && typed.exceptionsAs === undefined)
    screen.notice(`${counts} have no reward, so means and pass@k leave them out (count them with --exceptions-as)`);
  else if (a.exceptions + b.exceptions > 0)
    screen.notice(`means and pass@k count ${counts} with the reward ${typed.exceptionsAs}`);
  for (const [side, failed] of Object.entries({ a: failed_a, b: failed_b }))
    if (failed > 0) screen.notice(`all rollouts of ${pluralize(failed, "task")} failed in ${side}`);
};

const listSteps = ({ steps }: Comparison, names: Pick<CompareOptions, "a" | "b">) =>
  steps.map(({ side, name, values }) => {
    // Other texts come from the file, and agents read notes.
    const areNumbers = values.every((value) => /^-?\d{1,15}$/.test(value));
    const listed = areNumbers ? ` (${formatList(values, 5)})` : "";
    return `${names[side]} has ${values.length} values of ${name}${listed}, which are compared together`;
  });

const notePairs = ({ screen }: Context, comparison: Comparison, { limit, pairBy }: CompareOptions) => {
  const { compared, changed, changes, uncomparedMetrics, overflowingMetrics, pairing } = comparison;
  const { paired, without_prompt, reward, reward_of_all } = compared;
  if (paired > 0 && pairBy === undefined)
    screen.notice(
      `the pairs are ${pairing.name === undefined ? "prompts" : `values of the key ${pairing.name}`}: ${paired}`,
    );
  const unit = pairing.name === undefined ? "prompt" : `value of ${pairing.name}`;
  const means = Object.entries(reward_of_all).map(
    ([side, mean]) => `${side} ${mean === null ? "none" : formatForDisplay(mean)}`,
  );
  if (paired > 0 && without_prompt > 0) {
    const unknown = pluralize(without_prompt, "trajectory", "trajectories");
    const all = `The mean rewards of all are ${means.join(", ")}`;
    screen.notice(`the pairs leave out ${unknown} without a known ${unit}. ${all}`);
  }
  if (paired === 0) {
    const isFailed = changes.length > 0;
    const reason = isFailed ? "all rollouts of each common task failed in an input" : `no ${unit} is in both inputs`;
    const key = pairBy === undefined ? "a key" : "another key";
    const advice = isFailed ? "" : `. To pair by ${key}, pass --pair-by ${pairing.candidate ?? "<key>"}`;
    screen.notice(`${reason}, so nothing is compared. The mean rewards are ${means.join(", ")}${advice}`);
  }
  const overflow = explainOverflow(compared);
  if (overflow) screen.notice(`${overflow}, so ${reward ? "the mean excludes it" : "no reward is compared"}`);
  if (overflowingMetrics.length > 0)
    screen.notice(
      `these metrics exclude pairs whose difference is outside of the range of 64-bit floats: ${formatList(overflowingMetrics)}`,
    );
  for (const [side, names] of Object.entries(uncomparedMetrics))
    if (paired > 0 && names.length > 0)
      screen.notice(`no pair has these metrics of ${side} in both inputs: ${formatList(names)}`);
  if (changed.length > limit && (screen.format === "table" || screen.isForProgram))
    screen.notice(`listed the first ${limit} of ${changed.length} prompts whose reward changed`);
};

const describePairs = async (
  { a, b }: Datasets,
  { changed, readPair, readKey, pairing }: Comparison,
  { limit, groupBy }: CompareOptions,
) => {
  const described: ChangedPair[] = [];
  for (const { pair: number, means } of changed.slice(0, limit)) {
    if (!means) continue;
    const pair = readPair(number);
    const { prompt, key: ofPrompt } = readPairPromptAndKey([a, b], pair, groupBy);
    described.push({
      key: pairing.name === undefined ? ofPrompt : formatKeyText(readKey(number)),
      prompt,
      ...means,
      at_a: await formatTrajectoryPosition(a, pair.a.first),
      at_b: await formatTrajectoryPosition(b, pair.b.first),
    });
  }
  return described;
};

/** @throws Failure `run-is-worse`, `pairs-missing`, `interval-unknown` */
const requireEqual = (compared: Compared, { minEffect = 0, pairBy }: CompareOptions) => {
  const { reward } = compared;
  if (!reward?.ci95) {
    const hasPairs = (reward?.pairs ?? 0) > 1;
    const overflow = hasPairs ? "the rewards are too large for an interval" : explainOverflow(compared);
    const scale = { hint: "scale the rewards of both runs to a smaller range" };
    if (overflow) throw new Failure("invalid_input", "interval-unknown", overflow, scale);
    const hint =
      pairBy === undefined
        ? "compare runs of the same prompts, or pair them by a key with --pair-by"
        : "pass a key to --pair-by whose values both inputs have";
    const message = `${pluralize(reward?.pairs ?? 0, "pair")} with rewards, and a comparison needs two`;
    throw new Failure("invalid_input", "pairs-missing", message, { hint });
  }
  if (!isRegression(reward, minEffect)) return;
  const interval = reward.ci95.map(formatForDisplay).join(" and ");
  const message = `the mean reward of b is lower (${formatForDisplay(reward.difference)}, between ${interval})`;
  const hint = "omit --exit-code to exit with 0 even if b is worse";
  throw new Failure("differs", "run-is-worse", message, { hint });
};
