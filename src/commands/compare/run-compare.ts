import { readEffectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { composeCheckResult, type Dataset, locatePart, readPromptAndKeyAt } from "../../dataset/index.ts";
import { roundForDisplay } from "../../decimal.ts";
import { Failure, toWarningDocuments } from "../../failure.ts";
import { conflictingOptions } from "../../failures.ts";
import { readTries } from "../../options/input-options.ts";
import { printDocument, printObjects, type Screen } from "../../output/index.ts";
import { toFileLine } from "../../problems/positions.ts";
import { checkReportFiles } from "../../reading/output-files.ts";
import { noteWarnings, withExcerpts } from "../../reading/print-problems.ts";
import { closeDatasetAtEnd, printInputNotes, readInputs } from "../../reading/read-inputs.ts";
import { formatList } from "../../sentences.ts";
import { type Comparison, compareDatasets } from "../../stats/index.ts";
import * as failures from "../failures.ts";
import type { CompareOptions } from "./command.ts";
import { printComparePage } from "./compare-page.ts";
import type { ReportedComparison } from "./compare-report.ts";
import { listMeasures, measureColumns } from "./measures.ts";
import type { CompareDocument } from "./output.ts";
import { isRegression } from "./verdict.ts";

export const printComparison = async (context: Context, typed: CompareOptions) => {
  const { screen } = context;
  if (typed.a === "-" && typed.b === "-")
    throw conflictingOptions("<a> -", "<b> -", "standard input is a single input");
  checkReportFiles(screen, { report: typed.report, inputs: [typed.a, typed.b] });
  const datasets = await readBoth(context, typed).catch(async (thrown: unknown) => {
    if (thrown instanceof Failure && thrown.code === "invalid_input")
      await printReports(screen, { typed, failure: thrown });
    throw thrown;
  });
  const pairBy = typed.pairBy === undefined ? "prompt" : "key";
  const options = { pairBy, pass: typed.pass, tries: readTries(typed.k) } as const;
  const comparison = compareDatasets(datasets.a, datasets.b, options);
  notePairs(context, comparison, typed);
  const results = [composeCheckResult(datasets.a), composeCheckResult(datasets.b)];
  const [failure, ...others] = results.flatMap((result) => result.failure ?? []);
  // The error shows the problems of one input.
  if (others.length > 0) screen.notice(`${typed.b} has errors, too (see \`rollcall check\`)`);
  const problems = results.flatMap((result) => result.problems);
  const { changed, ownMetrics: _, ...rest } = comparison;
  const document: CompareDocument = {
    ...rest,
    changed: changed.slice(0, typed.limit).map((pair) => describePair(datasets, pair, typed)),
    warnings: toWarningDocuments(problems),
    notes: screen.notices,
  };
  if (typed.report.every(({ file }) => file !== undefined)) await printResult(screen, document, typed);
  noteWarnings(context, datasets.a, typed.a);
  noteWarnings(context, datasets.b, typed.b);
  await printReports(screen, { typed, failure, document, datasets: [datasets.a, datasets.b], problems });
  if (failure) {
    const { sources, problems } = results[0]?.failure ? datasets.a : datasets.b;
    context.explain = (thrown) => withExcerpts(context, sources, thrown, problems.counts);
    throw failure;
  }
  if (typed.exitCode) requireEqual(comparison, typed);
};

type Datasets = Readonly<Record<"a" | "b", Dataset>>;

const readBoth = async (context: Context, typed: CompareOptions): Promise<Datasets> => {
  const settings = await readEffectiveSettings(context, {});
  const measures = {
    hasPrompts: typed.pairBy === undefined,
    key: typed.pairBy === undefined ? undefined : [typed.pairBy],
    isShort: true,
  };
  const read = async (file: string) => {
    // Each input would be sampled and divided without the other, which would break pairs.
    const one = { ...typed, file: [file], sample: undefined, seed: "0", shard: undefined };
    const request = { settings, typed: one, skipsDigests: true, measures, continuesAfterErrors: true };
    const dataset = await readInputs(context, { ...request, label: `reading ${file}` });
    closeDatasetAtEnd(context, dataset);
    printInputNotes(context, dataset, one);
    return dataset;
  };
  return { a: await read(typed.a), b: await read(typed.b) };
};

const printResult = async (screen: Screen, document: CompareDocument, typed: CompareOptions) => {
  if (screen.format === "table") await printComparePage(screen, document, typed);
  else if (screen.isForProgram) await printDocument<CompareDocument>(screen, document);
  else await printObjects(screen, { data: listMeasures(document) }, { member: "data", columns: measureColumns });
};

const printReports = async (screen: Screen, comparison: ReportedComparison) => {
  if (comparison.typed.report.length === 0) return;
  const { printComparisonReports } = await import("./compare-report.ts");
  await printComparisonReports(screen, comparison);
};

const notePairs = ({ screen }: Context, comparison: Comparison, { limit, pairBy }: CompareOptions) => {
  const { paired, changed, ownMetrics } = comparison;
  if (paired === 0)
    screen.notice(
      `no ${pairBy === undefined ? "prompt" : `value of ${pairBy}`} is in both inputs, so nothing is compared`,
    );
  for (const [side, names] of Object.entries(ownMetrics))
    if (names.length > 0) screen.notice(`metrics that only ${side} has are not compared: ${formatList(names)}`);
  if (changed.length > limit && (screen.format === "table" || screen.isForProgram))
    screen.notice(`listed the first ${limit} of ${changed.length} prompts whose reward changed`);
};

const describePair = ({ a, b }: Datasets, pair: Comparison["changed"][number], { pairBy, groupBy }: CompareOptions) => {
  const { prompt, key } = readPromptAndKeyAt(a, pair.first.a, pairBy === undefined ? groupBy : [pairBy]);
  const { difference, first } = pair;
  const [at_a, at_b] = [toFileLine(locatePart(a, first.a.part)), toFileLine(locatePart(b, first.b.part))];
  return { key, prompt, a: pair.a, b: pair.b, difference, at_a, at_b };
};

/** @throws Failure `run-is-worse`, `pairs-missing` */
const requireEqual = ({ reward }: Comparison, { minEffect = 0, pairBy }: CompareOptions) => {
  if (!reward?.ci95) throw failures.pairsMissing(reward?.pairs ?? 0, pairBy);
  const [low = 0, high = 0] = reward.ci95;
  if (!isRegression(reward, minEffect)) return;
  const interval = `between ${roundForDisplay(low)} and ${roundForDisplay(high)}`;
  throw failures.runIsWorse(`${roundForDisplay(reward.difference)}, ${interval}`);
};
