/** Files side by side: the steps or runs that groups come from, where there are several. */
import { type Reading, spotOfGroup } from "../trajectories/index.ts";
import { type Measures, untrainable } from "./measures.ts";
import type { Run } from "./shapes.ts";

/** Files that are drawn side by side: more are no steps that anybody compares. */
const mostRuns = 1000;

/** Which file each group begins in. */
export class Runs {
  /** Files that groups begin in. */
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

  /** How many files are drawn side by side; 0 where there is but one, or more than anybody compares. */
  get count(): number {
    return this.files.length < 2 || this.files.length > mostRuns ? 0 : this.files.length;
  }

  has(group: number, file: string): boolean {
    return this.files[this.#fileOf[group] ?? 0] === file;
  }

  /** The files with what was measured of their groups, `step-9` before `step-10`; none where there is but one. */
  drawn(reading: Reading, { mean, count }: Pick<Measures, "mean" | "count">): readonly Run[] {
    if (this.count === 0) return [];
    const sums = this.files.map((file) => ({ file, groups: 0, withSignal: 0, measured: 0, sum: 0 }));
    for (let group = 0; group < count; group++) {
      const own = sums[this.#fileOf[group] ?? 0];
      if (own === undefined) continue;
      own.groups++;
      if (untrainable(reading, group) === undefined) own.withSignal++;
      const value = mean[group] ?? Number.NaN;
      if (!Number.isFinite(value)) continue;
      own.measured++;
      own.sum += value;
    }
    const { compare } = new Intl.Collator("en", { numeric: true });
    return sums
      .map(({ measured, sum, ...run }) => ({ ...run, mean: measured === 0 ? null : sum / measured }))
      .sort((a, b) => compare(a.file, b.file));
  }
}
