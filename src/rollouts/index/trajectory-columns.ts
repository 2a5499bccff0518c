/** Stores the facts of trajectories. */

import { NumberColumn } from "./column.ts";
import { FactColumns } from "./fact-columns.ts";
import { noMetrics, TrajectoryFacts } from "./trajectory-facts.ts";

export interface FactsOptions {
  /** True if the caller aggregates trajectories. */
  readonly hasFacts?: boolean;
}

/** A row is a trajectory of a valid part, in the order of the input. */
export class TrajectoryColumns {
  readonly reward = new NumberColumn();
  readonly walked: FactColumns | undefined;
  /** For each part, the number of rows before it. */
  readonly #first = new NumberColumn();
  /** The lists of names of metrics. Trajectories of a shape share a list. */
  readonly #nameLists = [noMetrics];
  readonly #nameList = new NumberColumn();
  /** For each row, the number of metrics up to its end. */
  readonly #metricsEnd = new NumberColumn();
  readonly #metrics = new NumberColumn();

  constructor({ hasFacts = false }: FactsOptions) {
    if (hasFacts) this.walked = new FactColumns();
  }

  get rows() {
    return this.reward.length;
  }

  /** @param facts begins with the facts of each trajectory of the part */
  addPart(facts: readonly TrajectoryFacts[], trajectories: number) {
    this.#first.push(this.rows);
    for (let at = 0; at < trajectories; at++) {
      const trajectory = facts[at];
      if (trajectory) this.#addRow(trajectory);
    }
  }

  #addRow(facts: TrajectoryFacts) {
    this.reward.push(facts.reward);
    const names = facts.metricNames;
    if (names.length > 0 && names !== this.#nameLists.at(-1)) this.#nameLists.push(names);
    this.#nameList.push(names.length > 0 ? this.#nameLists.length - 1 : 0);
    for (let at = 0; at < names.length; at++) this.#metrics.push(facts.metrics[at] ?? 0);
    this.#metricsEnd.push(this.#metrics.length);
  }

  /** Adds the parts of a later input. */
  append(later: TrajectoryColumns) {
    const facts = new TrajectoryFacts();
    for (let part = 0; part < later.#first.length; part++) {
      const rows = later.rowsOf([part]);
      this.#first.push(this.rows);
      for (const row of rows) this.#addRow(later.read(row, facts));
      if (later.walked) this.walked?.copyRows(later.walked, rows);
    }
  }

  /** Returns the rows of the parts of a group. */
  rowsOf(parts: readonly number[]): readonly number[] {
    const rows: number[] = [];
    for (const part of parts) {
      const end = part + 1 < this.#first.length ? this.#first.at(part + 1) : this.rows;
      for (let row = this.#first.at(part); row < end; row++) rows.push(row);
    }
    return rows;
  }

  /** Returns the row of the first trajectory of a part. */
  firstRowOf(part: number) {
    return this.#first.at(part);
  }

  /** Returns the names of the metrics of a row. */
  metricNamesOf(row: number) {
    return this.#nameLists[this.#nameList.at(row)] ?? noMetrics;
  }

  /** @param at the index in `metricNamesOf(row)` */
  metricAt(row: number, at: number) {
    return this.#metrics.at((row === 0 ? 0 : this.#metricsEnd.at(row - 1)) + at);
  }

  listMetricNames() {
    return [...new Set(this.#nameLists.flat())];
  }

  /** Overwrites and returns `facts`. */
  read(row: number, facts: TrajectoryFacts): TrajectoryFacts {
    const names = this.metricNamesOf(row);
    facts.reward = this.reward.at(row);
    facts.metricNames = names;
    if (facts.metrics.length < names.length) facts.metrics = new Float64Array(2 * names.length);
    for (let at = 0; at < names.length; at++) facts.metrics[at] = this.metricAt(row, at);
    return facts;
  }
}
