/** Files side by side: the steps or runs that groups come from, where there are several. */
import { momentsOf, type Reading, spotOfGroup } from "../groups/index.ts";
import { type Measures, untrainable } from "./measures.ts";
import type { Run } from "./shapes.ts";

/** Files that are drawn side by side: more are no steps that anybody compares. */
const mostRuns = 1000;

/** Which file each group begins in. */
export class Runs {
  readonly files: readonly string[];
  readonly #fileOf: Uint32Array;

  constructor(reading: Reading) {
    const known = new Map<string, number>();
    this.#fileOf = new Uint32Array(reading.groups.count);
    for (let group = 0; group < this.#fileOf.length; group++) {
      const { file } = spotOfGroup(reading, group);
      const at = known.get(file) ?? known.size;
      known.set(file, at);
      this.#fileOf[group] = at;
    }
    this.files = [...known.keys()];
  }

  /** How many files there are side by side; 0 where there is but one. */
  get count(): number {
    return this.files.length < 2 ? 0 : this.files.length;
  }

  has(group: number, file: string): boolean {
    return this.files[this.#fileOf[group] ?? 0] === file;
  }

  /** The first files with what was measured of their groups, run by run, `step-9` before `step-10`; none where there is but one. */
  drawn(reading: Reading, { mean, count }: Pick<Measures, "mean" | "count">): readonly Run[] {
    if (this.count === 0) return [];
    const means = this.files.map((): number[] => []);
    const all = this.files.map((file) => ({ file, groups: 0, withSignal: 0 }));
    for (let group = 0; group < count; group++) {
      const at = this.#fileOf[group] ?? 0;
      const own = all[at];
      if (own === undefined) continue;
      own.groups++;
      if (untrainable(reading, group) === undefined) own.withSignal++;
      const value = mean[group] ?? Number.NaN;
      if (Number.isFinite(value)) means[at]?.push(value);
    }
    const { compare } = new Intl.Collator("en", { numeric: true });
    const steps = stepsOf(this.files);
    const names = namesOf(steps.map(({ run }) => run));
    return all
      .map((file, at) => {
        const [{ run, step } = stepIn(file.file), own = []] = [steps[at], means[at]];
        return { ...file, run: names.get(run) ?? run, step, mean: own.length === 0 ? null : momentsOf(own).mean };
      })
      .sort((a, b) => compare(a.run, b.run) || (a.step ?? 0) - (b.step ?? 0) || compare(a.file, b.file))
      .slice(0, mostRuns);
  }
}

interface Step {
  readonly run: string;
  readonly step: number | null;
  /** The folder whose number it is; undefined where the number is the file's own. */
  readonly folder: string | undefined;
}

/** The steps of files: a folder's number is one where other folders have files of that name too, else its files are a run. */
const stepsOf = (files: readonly string[]): readonly Step[] => {
  const steps = files.map(stepIn);
  const counts = new Map<string, number>();
  for (const { run } of steps) counts.set(run, (counts.get(run) ?? 0) + 1);
  return steps.map((step) => {
    const { run, folder } = step;
    return folder === undefined || counts.get(run) !== 1 ? step : { run: folder, step: null, folder };
  });
};

/** The last number in a file's name, else in that of its folder. */
const stepIn = (file: string): Step => {
  const [, folder = "", name = ""] = /^(.*\/)?([^/]*)$/s.exec(file) ?? [];
  const [, stem = name, extension = ""] = /^(.+?)((?:\.[a-z]\w*)*)$/is.exec(name) ?? [];
  const own = numberIn(stem);
  if (own !== undefined) return { run: `${folder}${own.around}${extension}`, step: own.number, folder: undefined };
  const [, above = "", last = ""] = /^(.*\/)?([^/]*)\/$/s.exec(folder) ?? [];
  const its = numberIn(last);
  if (its === undefined) return { run: folder, step: null, folder };
  return { run: `${above}${its.around}/${name}`, step: its.number, folder };
};

/** The last number of a name, and what stands around it: of `3-of-8` that is the first of the two. */
const numberIn = (name: string): { readonly number: number; readonly around: string } | undefined => {
  const [, before = "", digits = "", after = ""] = /^(.*?)(\d+)(\D*|-of-\d+\D*)$/s.exec(name) ?? [];
  const number = Number(digits);
  return digits === "" || !Number.isSafeInteger(number) ? undefined : { number, around: `${before}*${after}` };
};

/** What tells runs from each other: their paths without what all of them begin and end with; of one there is nothing. */
const namesOf = (runs: readonly string[]): ReadonlyMap<string, string> => {
  const paths = [...new Set(runs)].map((run) => ({ run, parts: run.split("/") }));
  const shortest = Math.min(...paths.map(({ parts }) => parts.length));
  const [first] = paths;
  const isShared = (at: number) => paths.every(({ parts }) => parts.at(at) === first?.parts.at(at));
  let [head, tail] = [0, 0];
  while (head < shortest - 1 && isShared(head)) head++;
  while (tail < shortest - 1 - head && isShared(-1 - tail)) tail++;
  return new Map(
    paths.map(({ run, parts }) => [run, paths.length === 1 ? "" : parts.slice(head, parts.length - tail).join("/")]),
  );
};
