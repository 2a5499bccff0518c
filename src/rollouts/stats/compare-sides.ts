/** Divides two datasets into pools of trajectories with the same key or prompt. */

import type { Breaks } from "../../system/breaks.ts";
import type { TrajectoryPosition } from "../dataset/locate.ts";
import { readFailedKey } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { NumberColumn } from "../index/column.ts";
import type { FactColumns } from "../index/fact-columns.ts";
import type { Parts } from "../index/parts.ts";
import { Names, TextColumn, type TextNames } from "../index/text-column.ts";
import { groupKeyNames } from "../rules/names.ts";
import { getFacts } from "./fact-rows.ts";
import type { RolloutCounts } from "./stats-slice.ts";

export type Both<Value> = Readonly<Record<"a" | "b", Value>>;

/** The trajectories of a dataset with the same prompt, or the same key. */
export interface Pool {
  /** The first such trajectory, or a group without trajectories. */
  readonly first: TrajectoryPosition;
  readonly rows: readonly number[];
  readonly exceptions: number;
}

/** Pools by the number of their key. The distances between the rows of a pool take little memory. */
class Pools {
  /** Parts and rows are stored plus 1; 0 is none. */
  readonly #firstPart = new NumberColumn();
  readonly #lastRow = new NumberColumn();
  readonly #toPreviousRow = new NumberColumn();
  readonly #exceptions = new NumberColumn();
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The numbers of keys are smaller. */
  get end() {
    return this.#firstPart.length;
  }

  /** @param row undefined for a group without trajectories */
  add(key: number, part: number, row?: number) {
    const last = this.#lastRow.at(key);
    if (this.#firstPart.at(key) === 0 || (row !== undefined && last === 0)) this.#firstPart.set(key, part + 1);
    this.#firstPart.length = Math.max(this.end, key + 1);
    if (row === undefined) return;
    if (last > 0) this.#toPreviousRow.set(row, row + 1 - last);
    this.#lastRow.set(key, row + 1);
  }

  addExceptions(key: number, count: number) {
    this.#exceptions.set(key, this.#exceptions.at(key) + count);
  }

  has(key: number) {
    return this.#firstPart.at(key) > 0;
  }

  /** True if the key has no trajectories. */
  hasFailed(key: number) {
    return this.#lastRow.at(key) === 0;
  }

  at(key: number): Pool | undefined {
    const part = this.#firstPart.at(key) - 1;
    if (part < 0) return undefined;
    const rows: number[] = [];
    for (let row = this.#lastRow.at(key) - 1, step = row < 0 ? 0 : -1; step !== 0; row -= step) {
      rows.push(row);
      step = this.#toPreviousRow.at(row);
    }
    rows.reverse();
    const trajectory = Math.max(0, (rows[0] ?? 0) - this.#parts.columns.row.at(part));
    return { first: { part, trajectory }, rows, exceptions: this.#exceptions.at(key) };
  }
}

export interface Side {
  readonly facts: FactColumns;
  /** By the number of their key in `names`. */
  readonly pools: Pools;
  readonly names: TextNames;
  readonly counts: RolloutCounts;
  /** The number of trajectories without a key or prompt. */
  readonly unknown: number;
}

export type Sides = Both<Side>;

/** How pairs are found. Without a name, pairs are prompts. */
export interface Pairing {
  readonly name: string | undefined;
  readonly columnOf: (facts: FactColumns) => TextColumn<TextNames> | undefined;
}

export const pairByKey = (name: string): Pairing => ({ name, columnOf: ({ by }) => by });

const pairByPrompt: Pairing = { name: undefined, columnOf: ({ prompt }) => prompt };

/**
 * Pairs by a recorded key that all trajectories have, if each common value stands for one prompt or an unknown one.
 * `candidate` is a key with common values that stand for several prompts.
 */
export const choosePairing = async (a: Dataset, b: Dataset, breaks: Breaks) => {
  let best: { pairing: Pairing; common: number } = { pairing: pairByPrompt, common: 0 };
  let candidate: string | undefined;
  for (const name of groupKeyNames) {
    const columnOf = ({ tasks }: FactColumns) => tasks.get(name);
    const [common, isUnique] = await compareKeys([a, b], { name, columnOf }, breaks);
    if (isUnique && common > best.common) best = { pairing: { name, columnOf }, common };
    if (common > 0) candidate ??= name;
  }
  return { pairing: best.pairing, candidate };
};

/** Returns the number of common keys, and whether each stands for at most one known prompt. */
const compareKeys = async (
  sides: readonly Dataset[],
  { name, columnOf }: Readonly<{ name: string }> & Pairing,
  breaks: Breaks,
): Promise<readonly [common: number, isUnique: boolean]> => {
  const keys = new Map<string, { readonly sides: Set<Dataset>; prompt: string | undefined; isUnique: boolean }>();
  const add = (side: Dataset, name: string, prompt?: string) => {
    const key = keys.get(name) ?? { sides: new Set(), prompt, isUnique: true };
    if (key.sides.size === 0) keys.set(name, key);
    key.sides.add(side);
    if (prompt !== undefined && key.prompt !== undefined && key.prompt !== prompt) key.isUnique = false;
    key.prompt ??= prompt;
  };
  for (const side of sides) {
    const facts = getFacts(side);
    const column = columnOf(facts);
    // If all rollouts of a side failed, only its groups have keys.
    const failed = facts.rows === 0 ? side.groups.count : 0;
    if (!column && failed === 0) return [0, false];
    for (let group = 0; group < failed; group++) {
      if (breaks.isDue()) await breaks.take();
      const key = await readFailedKey(side, group, name);
      if (key !== undefined) add(side, key);
    }
    for (let row = 0; row < facts.rows; row++) {
      if (breaks.isDue()) await breaks.take();
      add(side, column?.at(row) ?? "", facts.isGreeted(row) ? undefined : facts.prompt.at(row));
    }
  }
  const common = [...keys.values()].filter((key) => key.sides.size === sides.length);
  return [common.length, common.every(({ isUnique }) => isUnique)];
};

export const openSide = async (dataset: Dataset, { name, columnOf }: Pairing, breaks: Breaks): Promise<Side> => {
  const facts = getFacts(dataset);
  const { groups, scan } = dataset;
  const column = columnOf(facts) ?? new TextColumn(new Names());
  const pools = new Pools(scan.parts);
  const counts = { groups: 0, trajectories: 0, exceptions: 0 };
  let unknown = 0;
  /** Returns the key of the first trajectory with a key; 0 without one. */
  const addPart = (part: number) => {
    const rows = scan.parts.rowsOf(part);
    let own = 0;
    for (const row of rows) {
      const key = column.numberAt(row);
      if (key === 0) unknown++;
      else pools.add(key, part, row);
      own ||= key;
    }
    counts.trajectories += rows.length;
    return own;
  };
  for (const group of groups.valid()) {
    if (breaks.isDue(100 * groups.trajectoriesOf(group))) await breaks.take();
    counts.groups++;
    const exceptions = groups.exceptionsOf(group);
    counts.exceptions += exceptions;
    let own = 0;
    for (const part of groups.partsOf(group)) {
      const key = addPart(part);
      own ||= key;
    }
    // A group without trajectories has no prompt.
    const isFailed = exceptions > 0 && groups.trajectoriesOf(group) === 0;
    const failedKey = isFailed && name !== undefined ? await readFailedKey(dataset, group, name) : undefined;
    if (failedKey !== undefined) {
      own = column.names.numberOf(failedKey);
      pools.add(own, groups.firstOf(group));
    }
    if (own > 0) pools.addExceptions(own, exceptions);
  }
  return { facts, pools, names: column.names, counts, unknown };
};
