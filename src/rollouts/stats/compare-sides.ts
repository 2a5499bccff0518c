/** Divides two datasets into pools of trajectories with the same key or prompt. */

import type { Breaks } from "../../system/breaks.ts";
import type { TrajectoryPosition } from "../dataset/locate.ts";
import { readFailedKey } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import type { FactColumns } from "../index/fact-columns.ts";
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

export interface Side {
  readonly facts: FactColumns;
  /** By the number of their key in `names`. */
  readonly pools: ReadonlyMap<number, Pool>;
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

/** Pairs by a recorded key that all trajectories have, if each common value stands for one prompt or an unknown one. */
export const choosePairing = async (a: Dataset, b: Dataset, breaks: Breaks) => {
  let best: { pairing: Pairing; common: number } = { pairing: pairByPrompt, common: 0 };
  for (const name of groupKeyNames) {
    const columnOf = ({ tasks }: FactColumns) => tasks.get(name);
    const [common, isUnique] = await compareKeys([a, b], { name, columnOf }, breaks);
    if (isUnique && common > best.common) best = { pairing: { name, columnOf }, common };
  }
  return best.pairing;
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
  const pools = new Map<number, { first: TrajectoryPosition; rows: number[]; exceptions: number }>();
  const counts = { groups: 0, trajectories: 0, exceptions: 0 };
  let unknown = 0;
  /** @param row undefined for a group without trajectories */
  const add = (key: number, first: TrajectoryPosition, row?: number) => {
    const pool = pools.get(key) ?? { first, rows: [], exceptions: 0 };
    if (pool.rows.length === 0) pools.set(key, row === undefined ? pool : { ...pool, first });
    if (row !== undefined) pools.get(key)?.rows.push(row);
  };
  for (const group of groups.valid()) {
    if (breaks.isDue(100 * groups.trajectoriesOf(group))) await breaks.take();
    counts.groups++;
    const exceptions = groups.exceptionsOf(group);
    counts.exceptions += exceptions;
    let own = 0;
    for (const part of groups.partsOf(group))
      for (const [trajectory, row] of scan.parts.rowsOf(part).entries()) {
        const key = column.numberAt(row);
        if (key === 0) unknown++;
        else add(key, { part, trajectory }, row);
        own ||= key;
        counts.trajectories++;
      }
    // A group without trajectories has no prompt.
    const isFailed = exceptions > 0 && groups.trajectoriesOf(group) === 0;
    const failedKey = isFailed && name !== undefined ? await readFailedKey(dataset, group, name) : undefined;
    if (failedKey !== undefined) {
      own = column.names.numberOf(failedKey);
      add(own, { part: groups.firstOf(group), trajectory: 0 });
    }
    const pool = pools.get(own);
    if (pool) pool.exceptions += exceptions;
  }
  return { facts, pools, names: column.names, counts, unknown };
};
