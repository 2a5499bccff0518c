/** Lists trajectories and groups as rows, whose keys are those of the documents of `rollcall stats --each`. */

import { locateTrajectory } from "../dataset/locate.ts";
import { openRowReader } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { isSolved } from "../index/metrics.ts";
import { meanOfFinite, standardDeviation } from "../index/sums.ts";
import { nameFacts, sumUses } from "../index/walked-columns.ts";
import { toFilePath } from "../rules/positions.ts";
import { getFacts, type RolloutFact, readFact } from "./facts.ts";
import type { StatsOptions } from "./stats-slice.ts";

/** Returns the facts of a group's trajectories; none if the group is invalid. */
export const readGroupFacts = (dataset: Dataset, group: number): readonly RolloutFact[] => {
  const facts = getFacts(dataset);
  const rows = dataset.groups.isValid(group) ? dataset.groups.rowsOf(group) : [];
  return rows.map((row) => readFact(facts, row));
};

/** Returns the mean of the finite rewards of a group, before the selection. */
export const meanOfGroup = (dataset: Dataset, group: number) => {
  const { scan, groups } = dataset.unselected ?? dataset;
  const original = dataset.originalOf?.(group).group ?? group;
  return meanOfFinite(scan.parts.facts.reward.pick(groups.rowsOf(original)));
};

/** Returns the facts of a trajectory by their names in rows. @param mean of its group */
export const toFactValues = (fact: RolloutFact, mean: number | null) => {
  const reward = Number.isFinite(fact.reward) ? fact.reward : null;
  return { reward, advantage: reward === null || mean === null ? null : reward - mean, ...nameFacts(fact) };
};

export interface RowOptions extends Pick<StatsOptions, "pass"> {
  /** Default: a key that groups usually have. */
  readonly groupBy: readonly string[] | undefined;
  /** Other keys whose values are wanted. */
  readonly names: readonly string[];
  readonly signal: AbortSignal;
}

/** Yields a row for each valid group, with the values of `names`. @throws Failure `input-changed` */
export async function* listGroupRows(dataset: Dataset, { pass, signal, ...wanted }: RowOptions) {
  const readRow = openRowReader(dataset, wanted);
  for (const group of listValidGroups(dataset, signal)) {
    const facts = readGroupFacts(dataset, group);
    const { calls, errors, unanswered } = sumUses(facts.flatMap(({ tools }) => [...tools.values()]));
    const rewards = facts.map(({ reward }) => reward).filter(Number.isFinite);
    const part = dataset.groups.firstOf(group);
    const { file, line, path } = await locateTrajectory(dataset, part, 0);
    const { keys, key, prompt } = readRow(part, 0);
    const row = {
      file: toFilePath(file, path),
      line,
      key,
      prompt,
      trajectories: facts.length,
      exceptions: dataset.groups.exceptionsOf(group),
      reward: meanOfFinite(rewards),
      std_dev: rewards.length === 0 ? null : standardDeviation(rewards),
      solved: rewards.filter((reward) => isSolved(reward, pass)).length,
      turns: meanOfFinite(facts.map(({ turns }) => turns)),
      characters: meanOfFinite(facts.map(({ characters }) => characters)),
      tokens: meanOfFinite(facts.map(({ tokens }) => tokens).filter((tokens) => tokens >= 0)),
      tool_calls: calls,
      tool_errors: errors,
      unanswered,
    };
    yield { row, keys };
  }
}

/** Yields a row for each trajectory of valid groups, with the values of `names`. @throws Failure `input-changed` */
export async function* listTrajectoryRows(dataset: Dataset, { pass, signal, ...wanted }: RowOptions) {
  const facts = getFacts(dataset);
  const readRow = openRowReader(dataset, wanted);
  for (const group of listValidGroups(dataset, signal)) {
    let trajectory = 0;
    const mean = meanOfGroup(dataset, group);
    for (const part of dataset.groups.partsOf(group)) {
      for (const [at, row] of facts.columns.rowsOf([part]).entries()) {
        signal.throwIfAborted();
        const { reward, advantage, ...others } = toFactValues(readFact(facts, row), mean);
        const { file, line, path } = await locateTrajectory(dataset, part, at);
        const { keys, key, prompt } = readRow(part, at);
        const values = {
          file: toFilePath(file, path),
          line,
          key,
          prompt,
          reward,
          advantage,
          solved: reward === null ? null : isSolved(reward, pass),
          ...others,
          trajectory: ++trajectory,
        };
        yield { row: values, keys };
      }
    }
  }
}

function* listValidGroups({ groups }: Dataset, signal: AbortSignal) {
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    if (groups.isValid(group)) yield group;
  }
}
