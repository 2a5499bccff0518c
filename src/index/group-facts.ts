/** Finds the facts of the trajectories of valid groups. */
import type { Span } from "../json/json-bytes.ts";
import type { Groups } from "./groups.ts";
import type { TrajectoryColumns } from "./trajectory-columns.ts";
import { createTrajectoryFacts, type TrajectoryFacts } from "./trajectory-facts.ts";

export class GroupFacts {
  readonly #columns: TrajectoryColumns;
  readonly #groups: Groups;

  constructor(columns: TrajectoryColumns, groups: Groups) {
    this.#columns = columns;
    this.#groups = groups;
  }

  /** Overwrites the first elements of `facts`. Returns the number of these elements. @param selected default: all */
  read(group: number, selected: readonly number[] | undefined, facts: TrajectoryFacts[]): number {
    const rows = this.rowsOf(group, selected);
    for (const [at, row] of rows.entries()) facts[at] = this.#columns.read(row, facts[at] ?? createTrajectoryFacts());
    return rows.length;
  }

  rowsOf(group: number, selected?: readonly number[]): readonly number[] {
    const rows = this.#columns.rowsOf(this.#groups.partsOf(group));
    return selected?.map((at) => rows[at] ?? 0) ?? rows;
  }

  versionsOf(group: number): readonly number[] {
    return this.rowsOf(group).map((row) => this.#columns.versionOf(row));
  }

  rewardsOf(group: number): readonly number[] {
    return this.#columns.reward.pick(this.rowsOf(group));
  }

  spansOf(group: number): readonly Span[] {
    return this.rowsOf(group).map((row) => this.#columns.spanOf(row));
  }
}
