/** The files that groups begin in: if there are several, they are steps or runs. */
import { computeMoments, type Dataset, locateGroup } from "../groups/index.ts";
import type { FileSummary } from "./answers.ts";
import { findUntrainableReason, type Measures } from "./measures.ts";

/** Files that are drawn: nobody compares more steps. */
const maxRuns = 1000;

/** The file of each group. */
export type GroupFiles = ReturnType<typeof indexFiles>;

export const indexFiles = (reading: Dataset) => {
  const known = new Map<string, number>();
  const files = new Uint32Array(reading.groups.count);
  for (let group = 0; group < files.length; group++) {
    const { file } = locateGroup(reading, group);
    if (!known.has(file)) known.set(file, known.size);
    files[group] = known.get(file) ?? 0;
  }
  const names = [...known.keys()];
  return { names, of: (group: number): string => names[files[group] ?? 0] ?? "" };
};

/** Returns the first files with what was measured of their groups, run by run, `step-9` before `step-10`; none if there is only one. */
export const summarizeFiles = (
  reading: Dataset,
  { names, of }: GroupFiles,
  { mean, count }: Measures,
): readonly FileSummary[] => {
  if (names.length < 2) return [];
  const newSummary = (means: number[] = []) => ({ groups: 0, withSignal: 0, means });
  const found = new Map(names.map((file) => [file, newSummary()]));
  for (let group = 0; group < count; group++) {
    const own = found.get(of(group));
    if (own === undefined) continue;
    own.groups++;
    if (findUntrainableReason(reading, group) === undefined) own.withSignal++;
    const value = mean[group] ?? Number.NaN;
    if (Number.isFinite(value)) own.means.push(value);
  }
  const { compare } = new Intl.Collator("en", { numeric: true });
  const steps = findSteps(names);
  const shortNames = shortenNames(Array.from(steps.values(), ({ run }) => run));
  return Array.from(found, ([file, { means, ...counts }]): FileSummary => {
    const { run, step } = steps.get(file) ?? { run: file, step: null };
    const average = means.length === 0 ? null : computeMoments(means).mean;
    return { file, ...counts, run: shortNames.get(run) ?? run, step, mean: average };
  })
    .sort((a, b) => compare(a.run, b.run) || (a.step ?? 0) - (b.step ?? 0) || compare(a.file, b.file))
    .slice(0, maxRuns);
};

interface Step {
  readonly run: string;
  readonly step: number | null;
  /** The folder that has the number; undefined if the file itself has it. */
  readonly folder: string | undefined;
}

/** A folder's number is a step if other folders have a file of that name too; otherwise its files are a run. */
const findSteps = (files: readonly string[]): ReadonlyMap<string, Step> => {
  const steps = files.map((file) => [file, findStep(file)] as const);
  const counts = new Map<string, number>();
  for (const [, { run }] of steps) counts.set(run, (counts.get(run) ?? 0) + 1);
  return new Map(
    steps.map(([file, step]) => {
      const { run, folder } = step;
      return [file, folder === undefined || counts.get(run) !== 1 ? step : { run: folder, step: null, folder }];
    }),
  );
};

/** The last number in a file's name, otherwise that in the name of its folder. */
const findStep = (file: string): Step => {
  const [, folder = "", name = ""] = /^(.*\/)?([^/]*)$/s.exec(file) ?? [];
  const [, stem = name, extension = ""] = /^(.+?)((?:\.[a-z]\w*)*)$/is.exec(name) ?? [];
  const own = findLastNumber(stem);
  if (own !== undefined) return { run: `${folder}${own.around}${extension}`, step: own.number, folder: undefined };
  const [, above = "", last = ""] = /^(.*\/)?([^/]*)\/$/s.exec(folder) ?? [];
  const its = findLastNumber(last);
  if (its === undefined) return { run: folder, step: null, folder };
  return { run: `${above}${its.around}/${name}`, step: its.number, folder };
};

/** The last number of a name, and the text around it: of `3-of-8` the first of the two. */
const findLastNumber = (name: string): { readonly number: number; readonly around: string } | undefined => {
  const [, before = "", digits = "", after = ""] = /^(.*?)(\d+)(\D*|-of-\d+\D*)$/s.exec(name) ?? [];
  const number = Number(digits);
  return digits === "" || !Number.isSafeInteger(number) ? undefined : { number, around: `${before}*${after}` };
};

/** The paths of runs without what all of them begin and end with; empty for a single run. */
const shortenNames = (runs: readonly string[]): ReadonlyMap<string, string> => {
  const paths = [...new Set(runs)].map((run) => ({ run, parts: run.split("/") }));
  const shortest = Math.min(...paths.map(({ parts }) => parts.length));
  const isShared = (at: number) => paths.every(({ parts }) => parts.at(at) === paths[0]?.parts.at(at));
  let [head, tail] = [0, 0];
  while (head < shortest - 1 && isShared(head)) head++;
  while (tail < shortest - 1 - head && isShared(-1 - tail)) tail++;
  return new Map(
    paths.map(({ run, parts }) => [run, paths.length === 1 ? "" : parts.slice(head, parts.length - tail).join("/")]),
  );
};
