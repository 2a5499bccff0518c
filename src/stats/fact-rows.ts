/** Lists trajectories and groups as rows, whose keys are those of the documents of `rollcall stats --each`. */

import { type Dataset, getPart, locatePart, locateValue } from "../dataset/index.ts";
import { formatKeyText } from "../index/group-key.ts";
import { isSolved } from "../index/metrics.ts";
import { meanOfFinite, standardDeviation } from "../index/sums.ts";
import { nameFacts, sumUses } from "../index/walked-columns.ts";
import { getFacts, type RolloutFact, readFact } from "./facts.ts";
import type { StatsOptions } from "./stats-slice.ts";

/** Returns the facts of a group's trajectories; none if the group is invalid. */
export const readGroupFacts = (dataset: Dataset, group: number): readonly RolloutFact[] => {
  const facts = getFacts(dataset);
  const rows = dataset.groups.isValid(group) ? dataset.groups.rowsOf(group) : [];
  return rows.map((row) => readFact(facts, row));
};

/** Returns the facts of a trajectory by their names in rows. @param mean of the finite rewards of its group */
export const toFactValues = (fact: RolloutFact, mean: number | null) => {
  const reward = Number.isFinite(fact.reward) ? fact.reward : null;
  return { reward, advantage: reward === null || mean === null ? null : reward - mean, ...nameFacts(fact) };
};

type RowOptions = Pick<StatsOptions, "pass"> & { readonly signal: AbortSignal };

/** Yields a row for each valid group. */
export async function* listGroupRows(dataset: Dataset, { pass, signal }: RowOptions) {
  for (const group of listValidGroups(dataset, signal)) {
    const facts = readGroupFacts(dataset, group);
    const { calls, errors, unanswered } = sumUses(facts.flatMap(({ tools }) => [...tools.values()]));
    const rewards = facts.map(({ reward }) => reward).filter(Number.isFinite);
    const { file, line } = locatePart(dataset, dataset.groups.firstOf(group));
    yield {
      file,
      line,
      key: formatKeyText(facts[0]?.key),
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
  }
}

/** Yields a row for each trajectory of valid groups. */
export async function* listTrajectoryRows(dataset: Dataset, { pass, signal }: RowOptions) {
  const facts = getFacts(dataset);
  for (const group of listValidGroups(dataset, signal)) {
    let trajectory = 0;
    const mean = meanOfFinite(facts.columns.reward.pick(dataset.groups.rowsOf(group)));
    for (const part of dataset.groups.partsOf(group)) {
      for (const [at, row] of facts.columns.rowsOf([part]).entries()) {
        const fact = readFact(facts, row);
        const { reward, advantage, ...others } = toFactValues(fact, mean);
        const solved = reward === null ? null : isSolved(reward, pass);
        const { file, line } = await locateTrajectory(dataset, part, at);
        yield {
          file,
          line,
          key: formatKeyText(fact.key),
          reward,
          advantage,
          solved,
          ...others,
          trajectory: ++trajectory,
        };
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

/** A group of converted records has its trajectories on several lines. */
const locateTrajectory = async (dataset: Dataset, part: number, trajectory: number) => {
  const first = locatePart(dataset, part);
  const groupPart = getPart(dataset, part);
  if (!groupPart.source.originals || groupPart.part.kind !== "group") return first;
  const { file = first.file, line = first.line } = await locateValue(groupPart, ["trajectories", trajectory]);
  return { file, line };
};
