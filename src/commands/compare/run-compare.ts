/** Compares two runs, and decides the exit code. */
import { Failure, type Problem, toWarningDocuments } from "../../failure.ts";
import { checkKeys, printDocument, printObjects } from "../../output/list.ts";
import { printPage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import { composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { formatTrajectoryPosition } from "../../rollouts/dataset/locate.ts";
import { readPairPromptAndKey } from "../../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { formatKeyText } from "../../rollouts/index/group-key.ts";
import { type Compared, type Comparison, compareDatasets } from "../../rollouts/stats/compare.ts";
import { requireKey } from "../../rollouts/stats/fact-rows.ts";
import { readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { listInputArgs, readTries } from "../../session/options.ts";
import { checkReport } from "../../session/output-files.ts";
import { adviseToCheck, explainWithExcerpts, noteWarnings, skipInvalidGroups } from "../../session/print-problems.ts";
import { attachDataset, openRollouts } from "../../session/read-rollouts.ts";
import { conflictingOptions } from "../../system/failures.ts";
import { formatInputName, formatList, pluralize, toFileArg } from "../../text/sentences.ts";
import { formatOwnCommand } from "../../text/shell-words.ts";
import { formatForDisplay } from "../../text/units.ts";
import type { CompareOptions } from "./command.ts";
import {
  type ChangedPair,
  type CompareDocument,
  documentKeys,
  isRegression,
  judgeReward,
  listRows,
  rowColumns,
} from "./compare-document.ts";
import { listSections, reportComparison } from "./compare-page.ts";
import { describeOtherPrompts } from "./where-from.ts";

export const printComparison = async (context: Context, typed: CompareOptions) => {
  const { screen } = context;
  checkKeys(screen, documentKeys);
  if (typed.a === "-" && typed.b === "-")
    throw conflictingOptions("<a> -", "<b> -", "standard input is a single input");
  await checkReport(screen, typed.report);
  const datasets = await readBoth(context, typed).catch(async (thrown: unknown) => {
    if (thrown instanceof Failure && thrown.code === "invalid_input")
      await reportComparison(screen, { typed, failure: thrown });
    throw thrown;
  });
  noteFormats(screen, datasets, typed);
  const measured = { ...typed, tries: readTries(typed.k), signal: context.host.signal };
  const comparison = await compareDatasets(datasets.a, datasets.b, measured);
  const { compared } = comparison;
  const notes = listPairNotes(comparison, typed, screen.format);
  const note = notes.map((text, at) => (at === 0 ? text : text.charAt(0).toUpperCase() + text.slice(1))).join(". ");
  if (note !== "") screen.notice(note);
  const results = [composeCheckResult(datasets.a), composeCheckResult(datasets.b)];
  const [failure, ...others] = results.flatMap(
    (result, at) => skipInvalidGroups(context, result, selectSide(typed, at === 0 ? "a" : "b")) ?? [],
  );
  // The error shows the problems of one input.
  if (others.length > 0) screen.notice(`${typed.b} has errors, too (${adviseToCheck(selectSide(typed, "b"))})`);
  const problems = [...listOwnWarnings(compared), ...results.flatMap((result) => result.problems)];
  const document: CompareDocument = {
    verdict: judgeReward(compared.reward, typed.minEffect),
    ...compared,
    changed: await describePairs(datasets, comparison, typed),
    warnings: toWarningDocuments(problems),
    notes: screen.notices,
  };
  if (typed.report === undefined) await printResult(screen, document, typed);
  noteWarnings(context, [datasets.a, datasets.b], { ...typed, file: [typed.a, typed.b] });
  await reportComparison(screen, { typed, failure, document, problems });
  if (failure) {
    explainWithExcerpts(context, results[0]?.failure ? datasets.a : datasets.b);
    throw failure;
  }
  if (typed.exitCode) requireEqual(document, typed);
};

type Datasets = Readonly<Record<"a" | "b", Dataset>>;

/** @throws Failure `key-missing` */
const readBoth = async (context: Context, typed: CompareOptions): Promise<Datasets> => {
  const settings = await readEffectiveSettings(context, {});
  const measures = { hasTasks: true, by: typed.pairBy };
  const read = async (side: "a" | "b") => {
    const needs = { settings, skipsDigests: true, measures, continuesAfterErrors: true };
    const options = selectSide(typed, side);
    const dataset = await openRollouts(context, options, { ...needs, label: `reading ${typed[side]}` });
    attachDataset(context, dataset);
    if (typed.pairBy !== undefined) requireKey(dataset, typed.pairBy, `in ${formatInputName(typed[side])}`);
    return dataset;
  };
  return { a: await read("a"), b: await read("b") };
};

/** Names the formats. The other notes of an input are those of `check`. */
const noteFormats = (screen: Screen, datasets: Datasets, typed: CompareOptions) => {
  const read = (["a", "b"] as const).flatMap((side) => {
    const formats = datasets[side].conversion?.formats ?? [];
    const titles = formats.map(({ format }) => `${format.title} (--from ${format.name})`);
    return titles.length === 0 ? [] : `${formatInputName(typed[side])} was read as ${titles.join(" and ")}`;
  });
  if (read.length > 0) screen.notice(read.join(", and "));
};

/** Returns the options of a command for one input. */
const selectSide = (typed: CompareOptions, side: "a" | "b") => ({ ...typed, file: [typed[side]] });

const listOwnWarnings = (compared: Compared): readonly Problem[] => {
  const message = describeOtherPrompts(compared);
  const advice = "compare runs of the same prompts, or pair them by a key whose values stand for one prompt";
  return message === undefined ? [] : [{ rule: "other-prompts", severity: "warning", message, advice }];
};

const printResult = async (screen: Screen, document: CompareDocument, typed: CompareOptions) => {
  if (screen.format === "table" && !screen.fields) await printPage(screen, { sections: listSections(document, typed) });
  else if (screen.isJson) await printDocument(screen, document);
  else await printObjects(screen, { data: listRows(document) }, { member: "data", columns: rowColumns });
};

const listExceptionNotes = ({ a, b }: Compared, { exceptionsAs }: CompareOptions) => {
  const counts = `${pluralize(a.exceptions, "exception")} in a and ${b.exceptions} in b`;
  if (a.exceptions + b.exceptions === 0) return [];
  return exceptionsAs === undefined
    ? [`${counts} have no reward, so means and pass@k leave them out (count them with --exceptions-as)`]
    : [`means and pass@k count ${counts} with the reward ${exceptionsAs}`];
};

const listSteps = ({ steps }: Comparison, names: Pick<CompareOptions, "a" | "b">) =>
  steps.map(({ side, name, values }) => {
    // Other texts come from the file, and agents read notes.
    const areNumbers = values.every((value) => /^-?\d{1,15}$/.test(value));
    const listed = areNumbers ? ` (${formatList(values, 5)})` : "";
    return `${names[side]} has ${values.length} values of ${name}${listed}, which are compared together. Put each value into its own file`;
  });

/** Returns what the numbers do not show. A page has more. */
const listPairNotes = (comparison: Comparison, typed: CompareOptions, format: Screen["format"]): readonly string[] => {
  const { compared, changes, pairName } = comparison;
  const { paired, without_prompt, reward_of_all } = compared;
  const unit = pairName === undefined ? "prompt" : `value of ${pairName}`;
  const means = Object.entries(reward_of_all).map(
    ([side, mean]) => `${side} ${mean === null ? "none" : formatForDisplay(mean)}`,
  );
  const notes: string[] = [];
  const otherPrompts = describeOtherPrompts(compared);
  if (otherPrompts !== undefined && format !== "table") notes.push(otherPrompts);
  if (paired > 0 && typed.pairBy === undefined)
    notes.push(`the pairs are ${pairName === undefined ? "prompts" : `values of the key ${pairName}`}: ${paired}`);
  if (paired > 0 && without_prompt > 0) {
    const unknown = pluralize(without_prompt, "trajectory", "trajectories");
    notes.push(
      `the pairs leave out ${unknown} without a known ${unit}. The mean rewards of all are ${means.join(", ")}`,
    );
  }
  if (paired === 0) {
    const isFailed = changes.length > 0;
    const reason = isFailed ? "all rollouts of each common task failed in an input" : `no ${unit} is in both inputs`;
    const key = typed.pairBy === undefined ? "a key" : "another key";
    const advice = isFailed ? "" : `. To pair by ${key}, pass --pair-by <key>`;
    notes.push(`${reason}, so nothing is compared. The mean rewards are ${means.join(", ")}${advice}`);
  }
  return [...notes, ...listExceptionNotes(compared, typed), ...listSteps(comparison, typed)];
};

const describePairs = async (
  { a, b }: Datasets,
  { changed, pairName }: Comparison,
  { limit, groupBy }: CompareOptions,
) => {
  const described: ChangedPair[] = [];
  for (const { pair, means } of changed.slice(0, limit)) {
    if (!means) continue;
    const { prompt, key: ofPrompt } = readPairPromptAndKey([a, b], pair, groupBy);
    described.push({
      key: pairName === undefined ? ofPrompt : formatKeyText(pair.key),
      prompt,
      ...means,
      at_a: await formatTrajectoryPosition(a, pair.a.first),
      at_b: await formatTrajectoryPosition(b, pair.b.first),
    });
  }
  return described;
};

const maxFallen = 3;

/** @throws Failure `run-is-worse`, `pairs-missing` */
const requireEqual = (document: CompareDocument, typed: CompareOptions) => {
  const { reward, changed } = document;
  const { minEffect = 0, pairBy, a, b } = typed;
  if (!reward?.ci95) {
    const hint =
      pairBy === undefined
        ? "compare runs of at least three equal prompts, or pair them by a key with --pair-by"
        : "pass a key to --pair-by of which both inputs have at least three values";
    const message = `the rewards of ${pluralize(reward?.pairs ?? 0, "pair")} have no interval`;
    throw new Failure("invalid_input", "pairs-missing", message, { hint });
  }
  if (!isRegression(reward, minEffect)) return;
  const interval = reward.ci95.map(formatForDisplay).join(" and ");
  const message = `the mean reward of b is lower (${formatForDisplay(reward.difference)}, between ${interval})`;
  const fallen = changed.filter(({ difference }) => difference < 0).map(({ at_b }) => at_b);
  const view = formatOwnCommand(["view", toFileArg(a), toFileArg(b), ...listInputArgs(typed)]);
  const hint = `see the prompts that fell (${formatList(fallen, maxFallen)}) with \`${view}\``;
  throw new Failure("differs", "run-is-worse", message, { hint });
};
