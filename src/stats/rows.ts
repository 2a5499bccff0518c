/** Lists the facts of trajectories and groups as rows. */

import { type Dataset, getPart, locatePart, locateValue } from "../dataset/index.ts";
import { type RolloutFact, sumUses } from "../index/rollout-facts.ts";
import { computeMean } from "../index/sums.ts";
import { getFacts, readFact } from "./facts.ts";

export interface RowPosition {
  readonly file: string;
  readonly line: number;
}

export interface TrajectoryFactsRow {
  readonly position: RowPosition;
  /** The number of the trajectory in its group, from 1. */
  readonly trajectory: number;
  readonly fact: RolloutFact;
  /** The mean of the finite rewards of the group; undefined without one. */
  readonly groupMean: number | undefined;
}

export interface GroupFactsRow {
  readonly position: RowPosition;
  readonly exceptions: number;
  readonly facts: readonly RolloutFact[];
}

/** Returns the facts of a trajectory with null for unknown values. @param groupMean as in `TrajectoryFactsRow` */
export const toFactValues = (fact: RolloutFact, groupMean: number | undefined) => {
  const { calls, errors, unanswered } = sumUses(fact.tools.values());
  const reward = Number.isFinite(fact.reward) ? fact.reward : null;
  return {
    reward,
    advantage: reward === null || groupMean === undefined ? null : reward - groupMean,
    turns: fact.turns,
    characters: fact.characters,
    tokens: fact.tokens < 0 ? null : fact.tokens,
    finish_reason: fact.finishReason ?? null,
    tool_calls: calls,
    tool_errors: errors,
    unanswered,
  };
};

/** Returns the facts of a group's trajectories; none if the group is invalid. */
export const readGroupFacts = (dataset: Dataset, group: number): readonly RolloutFact[] => {
  const facts = getFacts(dataset);
  const rows = dataset.groups.isValid(group) ? facts.columns.rowsOf(dataset.groups.partsOf(group)) : [];
  return rows.map((row) => readFact(facts, row));
};

/** Yields valid groups. */
export async function* listGroupFacts(dataset: Dataset, signal: AbortSignal): AsyncGenerator<GroupFactsRow> {
  const facts = getFacts(dataset);
  for (const parts of listValidGroups(dataset, signal)) {
    const rows = facts.columns.rowsOf(parts);
    const exceptions = parts.reduce((sum, part) => sum + dataset.scan.parts.columns.exceptions.at(part), 0);
    yield {
      position: toPosition(locatePart(dataset, parts[0] ?? 0)),
      exceptions,
      facts: rows.map((row) => readFact(facts, row)),
    };
  }
}

/** Yields the trajectories of valid groups. */
export async function* listTrajectoryFacts(dataset: Dataset, signal: AbortSignal): AsyncGenerator<TrajectoryFactsRow> {
  const facts = getFacts(dataset);
  for (const parts of listValidGroups(dataset, signal)) {
    const rewards = facts.columns.rowsOf(parts).map((row) => facts.columns.reward.at(row));
    const finite = rewards.filter(Number.isFinite);
    const groupMean = finite.length === 0 ? undefined : computeMean(finite);
    let trajectory = 0;
    for (const part of parts) {
      for (const [at, row] of facts.columns.rowsOf([part]).entries()) {
        const position = await locateTrajectory(dataset, part, at);
        yield { position, trajectory: ++trajectory, fact: readFact(facts, row), groupMean };
      }
    }
  }
}

/** Yields the parts of each valid group. */
function* listValidGroups({ groups }: Dataset, signal: AbortSignal) {
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    if (groups.isValid(group)) yield groups.partsOf(group);
  }
}

const toPosition = ({ file, line }: RowPosition): RowPosition => ({ file, line });

/** A group of converted records has its trajectories on several lines. */
const locateTrajectory = async (dataset: Dataset, at: number, trajectory: number): Promise<RowPosition> => {
  const first = toPosition(locatePart(dataset, at));
  const groupPart = getPart(dataset, at);
  if (!groupPart.source.originals || groupPart.part.kind !== "group") return first;
  const { file = first.file, line = first.line } = await locateValue(groupPart, ["trajectories", trajectory]);
  return { file, line };
};
