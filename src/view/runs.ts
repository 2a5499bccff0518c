/** The files that groups begin in. Several files are steps of runs. */
import { computeMoments, type Dataset, locateGroup } from "../groups/index.ts";
import type { FileSummary } from "./answers.ts";
import { findUntrainableReason, type Measures } from "./measures.ts";

/** Maximum number of files in the chart. */
const maxRuns = 1000;

/** The file of each group. */
export type GroupFiles = ReturnType<typeof indexFiles>;

export const indexFiles = (dataset: Dataset) => {
  const files = Array.from({ length: dataset.groups.count }, (_, group) => locateGroup(dataset, group).file);
  return { names: [...new Set(files)], of: (group: number): string => files[group] ?? "" };
};

/** Summarizes files by run and step, `step-9` before `step-10`. Empty for a single file. */
export const summarizeFiles = (
  dataset: Dataset,
  { names, of }: GroupFiles,
  { mean, count }: Measures,
): readonly FileSummary[] => {
  if (names.length < 2) return [];
  const summaries = new Map<string, { groups: number; trainable: number; means: number[] }>();
  for (let group = 0; group < count; group++) {
    const own = summaries.get(of(group)) ?? { groups: 0, trainable: 0, means: [] };
    summaries.set(of(group), own);
    own.groups++;
    if (findUntrainableReason(dataset, group) === undefined) own.trainable++;
    const value = mean[group] ?? Number.NaN;
    if (Number.isFinite(value)) own.means.push(value);
  }
  const { compare } = new Intl.Collator("en", { numeric: true });
  const steps = new Map(names.map((file) => [file, findStep(file)]));
  const runs = new Set(Array.from(steps.values(), ({ run }) => run));
  // If no run has two files, the numbers are not steps.
  const hasSteps = runs.size < names.length;
  const shortNames = shortenNames(hasSteps ? [...runs] : [""]);
  return Array.from(summaries, ([file, { means, ...counts }]): FileSummary => {
    const { run = "", step = null } = hasSteps ? (steps.get(file) ?? {}) : {};
    const average = means.length === 0 ? null : computeMoments(means).mean;
    return { file, ...counts, run: shortNames.get(run) ?? run, step, mean: average };
  })
    .sort((a, b) => compare(a.run, b.run) || (a.step ?? 0) - (b.step ?? 0) || compare(a.file, b.file))
    .slice(0, maxRuns);
};

/** The step is the last number in the name of the file or its folder (3 in `3-of-8`). The run is the rest. */
const findStep = (file: string): { readonly run: string; readonly step: number | null } => {
  const [, stem = file, extension = ""] = /^(.+?)((?:\.[a-z]\w*)*)$/is.exec(file) ?? [];
  const [, before, digits, after] = /^(.*?)(\d+)((?:-of-\d+)?[^\d/]*(?:\/[^\d/]*)?)$/s.exec(stem) ?? [];
  const step = Number(digits);
  const folder = file.slice(0, file.lastIndexOf("/") + 1);
  return Number.isSafeInteger(step) ? { run: `${before}*${after}${extension}`, step } : { run: folder, step: null };
};

/** Removes what all paths of runs begin and end with. Empty for a single run. */
const shortenNames = (runs: readonly string[]): ReadonlyMap<string, string> => {
  const paths = runs.map((run) => ({ run, parts: run.split("/") }));
  const shortest = Math.min(...paths.map(({ parts }) => parts.length));
  const isShared = (at: number) => paths.every(({ parts }) => parts.at(at) === paths[0]?.parts.at(at));
  let [head, tail] = [0, 0];
  while (head < shortest - 1 && isShared(head)) head++;
  while (tail < shortest - 1 - head && isShared(-1 - tail)) tail++;
  return new Map(
    paths.map(({ run, parts }) => [run, paths.length === 1 ? "" : parts.slice(head, parts.length - tail).join("/")]),
  );
};
