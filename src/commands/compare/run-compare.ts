import { readEffectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { composeCheckResult, type Dataset, locatePart, readPromptAndKeyAt } from "../../dataset/index.ts";
import { roundForDisplay } from "../../decimal.ts";
import { toProblemDocument } from "../../failure.ts";
import { readTries } from "../../options/input-options.ts";
import { printDocument, printObjects } from "../../output/index.ts";
import { toFileLine } from "../../problems/positions.ts";
import { closeDatasetAtEnd, printInputNotes, readInputs } from "../../reading/read-inputs.ts";
import { type Comparison, compareDatasets } from "../../stats/index.ts";
import * as failures from "../failures.ts";
import type { CompareOptions } from "./command.ts";
import { printComparePage } from "./compare-page.ts";
import type { CompareDocument } from "./output.ts";

export const printComparison = async (context: Context, typed: CompareOptions) => {
  const { screen } = context;
  const settings = await readEffectiveSettings(context, {});
  const measures = { hasPrompts: typed.pairBy === undefined, key: typed.pairBy };
  const read = async (file: string) => {
    const one = { ...typed, file: [file] };
    const request = { settings, typed: one, skipsDigests: true, measures, continuesAfterErrors: true };
    const dataset = await readInputs(context, { ...request, label: `reading ${file}` });
    closeDatasetAtEnd(context, dataset);
    printInputNotes(context, dataset, one);
    return dataset;
  };
  const datasets = { a: await read(typed.a), b: await read(typed.b) };
  const tries = readTries(typed.k);
  const pairBy = typed.pairBy === undefined ? "prompt" : "key";
  const comparison = compareDatasets(datasets.a, datasets.b, { pairBy, pass: typed.pass, tries });
  const results = [composeCheckResult(datasets.a), composeCheckResult(datasets.b)];
  const warnings = results
    .flatMap(({ problems }) => problems.filter(({ severity }) => severity === "warning"))
    .map(toProblemDocument);
  const { changed, ...rest } = comparison;
  const document: CompareDocument = {
    ...rest,
    changed: changed.slice(0, typed.limit).map((pair) => describePair(datasets, pair, typed)),
    warnings,
    notes: screen.notices,
  };
  if (screen.format === "table") await printComparePage(screen, document, typed);
  else if (screen.isForProgram) await printDocument<CompareDocument>(screen, document);
  else await printObjects(screen, { data: document.changed }, { member: "data", columns: changedColumns });
  const failure = results.find((result) => result.failure)?.failure;
  if (failure) throw failure;
  if (typed.exitCode) requireEqual(comparison, typed);
};

const changedColumns = (["key", "prompt", "a", "b", "difference", "at_a", "at_b"] as const).map((name, rank) => ({
  name,
  rank,
}));

const describePair = (
  { a, b }: Readonly<Record<"a" | "b", Dataset>>,
  pair: Comparison["changed"][number],
  { pairBy, groupBy }: CompareOptions,
) => {
  const { prompt, key } = readPromptAndKeyAt(a, pair.first.a, pairBy ?? groupBy);
  const { difference, first } = pair;
  const [at_a, at_b] = [toFileLine(locatePart(a, first.a.part)), toFileLine(locatePart(b, first.b.part))];
  return { key, prompt, a: pair.a, b: pair.b, difference, at_a, at_b };
};

/** @throws Failure `run-is-worse`, `pairs-missing` */
const requireEqual = ({ reward }: Comparison, { minEffect = 0, pairBy }: CompareOptions) => {
  const pairs = reward ? reward.better + reward.worse + reward.equal : 0;
  if (!reward?.ci95) throw failures.pairsMissing(pairs, pairBy);
  const [low = 0, high = 0] = reward.ci95.map(roundForDisplay);
  if (Number(reward.ci95.at(-1)) < -minEffect)
    throw failures.runIsWorse(`${roundForDisplay(reward.difference)}, between ${low} and ${high}`);
};
