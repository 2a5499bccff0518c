import { readEffectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { composeCheckResult, type Dataset, locatePart, readPromptAndKeyAt } from "../../dataset/index.ts";
import { roundForDisplay } from "../../decimal.ts";
import { toProblemDocument } from "../../failure.ts";
import { readTries } from "../../options/input-options.ts";
import { type KeyColumn, printDocument, printObjects } from "../../output/index.ts";
import { toFileLine } from "../../problems/positions.ts";
import { noteWarnings, withExcerpts } from "../../reading/print-problems.ts";
import { closeDatasetAtEnd, printInputNotes, readInputs } from "../../reading/read-inputs.ts";
import { type Comparison, compareDatasets, findSign } from "../../stats/index.ts";
import * as failures from "../failures.ts";
import type { CompareOptions } from "./command.ts";
import { printComparePage } from "./compare-page.ts";
import type { CompareDocument } from "./output.ts";

export const printComparison = async (context: Context, typed: CompareOptions) => {
  const { screen } = context;
  const settings = await readEffectiveSettings(context, {});
  const measures = { hasPrompts: typed.pairBy === undefined, key: typed.pairBy };
  const read = async (file: string) => {
    // Each input would be sampled and divided without the other, which would break pairs.
    const one = { ...typed, file: [file], sample: undefined, seed: "0", shard: undefined };
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
  notePairs(context, comparison, typed);
  const results = [composeCheckResult(datasets.a), composeCheckResult(datasets.b)];
  const [failure, ...others] = results.flatMap((result) => result.failure ?? []);
  // The error shows the problems of one input.
  if (others.length > 0) screen.notice(`${typed.b} has errors, too (see \`rollcall check\`)`);
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
  else await printObjects(screen, { data: listMeasures(comparison) }, { member: "data", columns: measureColumns });
  noteWarnings(context, datasets.a, typed.a);
  noteWarnings(context, datasets.b, typed.b);
  if (failure) {
    const { sources, problems } = results[0]?.failure ? datasets.a : datasets.b;
    context.explain = (thrown) => withExcerpts(context, sources, thrown, problems.counts);
    throw failure;
  }
  if (typed.exitCode) requireEqual(comparison, typed);
};

interface Measure {
  readonly name: string;
  readonly pairs: number;
  readonly a: number | null;
  readonly b: number | null;
  readonly difference: number | null;
  readonly ci95: readonly number[] | null;
}

const listMeasures = ({ reward, pass, metrics }: Comparison): readonly Measure[] => [
  ...(reward ? [{ name: "reward", ...reward }] : []),
  ...pass.map(({ k, ...compared }) => ({ name: `pass@${k}`, ...compared })),
  ...Object.entries(metrics).map(([name, compared]) => ({ name, ...compared })),
];

const measureColumns: readonly KeyColumn<Measure>[] = [
  { name: "name", rank: 0 },
  { name: "pairs", rank: 1 },
  { name: "a", rank: 0 },
  { name: "b", rank: 0 },
  { name: "difference", rank: 0 },
  { name: "ci95_low", rank: 0, value: ({ ci95 }) => ci95?.[0] },
  { name: "ci95_high", rank: 0, value: ({ ci95 }) => ci95?.[1] },
];

const notePairs = ({ screen }: Context, { paired, changed }: Comparison, { limit, pairBy }: CompareOptions) => {
  if (paired === 0)
    screen.notice(
      `no ${pairBy === undefined ? "prompt" : `value of ${pairBy}`} is in both inputs, so nothing is compared`,
    );
  if (changed.length > limit)
    screen.notice(`listed the first ${limit} of ${changed.length} prompts whose reward changed`);
};

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
  if (!reward?.ci95) throw failures.pairsMissing(reward?.pairs ?? 0, pairBy);
  const [low = 0, high = 0] = reward.ci95;
  if (findSign(reward) >= 0 || high >= -minEffect) return;
  const interval = `between ${roundForDisplay(low)} and ${roundForDisplay(high)}`;
  throw failures.runIsWorse(`${roundForDisplay(reward.difference)}, ${interval}`);
};
