/** Finds the facts of the trajectories of valid groups. */
import type { Span } from "../json/json-bytes.ts";
import type { Groups } from "./groups.ts";
import type { Parts } from "./parts.ts";
import type { TrajectoryColumns } from "./trajectory-columns.ts";
import { createTrajectoryFacts, type TrajectoryFacts } from "./trajectory-facts.ts";

export class GroupFacts {
  readonly #columns: TrajectoryColumns;
  readonly #parts: Parts;
  readonly #groups: Groups;
  /** The index of the first trajectory of each part. */
  readonly #firsts: Float64Array;

  constructor(parts: Parts, groups: Groups) {
    this.#columns = parts.facts;
    this.#parts = parts;
    this.#groups = groups;
    this.#firsts = new Float64Array(parts.count);
    for (let part = 0, first = 0; part < parts.count; part++) {
      this.#firsts[part] = first;
      if (parts.isValid(part)) first += parts.columns.trajectories.at(part);
    }
  }

  /** Overwrites the first elements of `facts`. Returns the number of these elements. @param selected default: all */
  read(group: number, selected: readonly number[] | undefined, facts: TrajectoryFacts[]): number {
    const indexes = this.indexesOf(group, selected);
    for (let at = 0; at < indexes.length; at++)
      facts[at] = this.#columns.read(indexes[at] ?? 0, facts[at] ?? createTrajectoryFacts());
    return indexes.length;
  }

  /** Returns the positions in the columns of trajectories. */
  indexesOf(group: number, selected?: readonly number[]): readonly number[] {
    const indexes: number[] = [];
    for (const part of this.#groups.partsOf(group)) {
      const first = this.#firsts[part] ?? 0;
      const count = this.#parts.columns.trajectories.at(part);
      for (let at = first; at < first + count; at++) indexes.push(at);
    }
    return selected?.map((at) => indexes[at] ?? 0) ?? indexes;
  }

  versionsOf(group: number): readonly number[] {
    return this.indexesOf(group).map((at) => this.#columns.versionOf(at));
  }

  rewardsOf(group: number): readonly number[] {
    return this.indexesOf(group).map((at) => this.#columns.rewardOf(at));
  }

  spansOf(group: number): readonly Span[] {
    return this.indexesOf(group).map((at) => this.#columns.spanOf(at));
  }
}
