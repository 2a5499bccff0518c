/** Selects trajectories to read. A list says by what it selects, and judges nothing. */

import { Breaks } from "../../system/breaks.ts";
import { formatForDisplay as format } from "../../text/decimal.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { countIndexes, isCutOff } from "../facts/facts.ts";
import { NumberColumn } from "../index/column.ts";
import type { FactColumns } from "../index/fact-columns.ts";
import { isSolved } from "../index/metrics.ts";
import { findBounds, standardDeviation } from "../index/sums.ts";
import { percentile } from "./intervals.ts";
import { type Facts, getFacts } from "./read-facts.ts";

/** A trajectory by the index of its group, and by its index in the group. Its reward is finite. */
interface Trajectory {
  readonly group: number;
  readonly trajectory: number;
  readonly reward: number;
}

type Row = Trajectory & { readonly row: number };

/** The first best and worst trajectory, all of them, and the prompt's digest or the own number. */
type Group = Readonly<{ best: Row; worst: Row; rows: readonly Row[]; deviation: number; prompt: unknown }>;

export interface ReadingList {
  readonly topic: "what got worse" | "what else to read";
  readonly reason: string;
  readonly selectedBy: string;
  readonly trajectories: readonly (Trajectory & { readonly why: string })[];
}

const maxListed = 4;
/** Listing a trajectory costs as much as reading this many bytes. */
const bytesPerRow = 1000;
/** Limits the memory for a million trajectories. */
const maxCandidates = 1000;

interface Candidate {
  /** The lowest rank is the first. Of equal ranks, the order of the input counts. */
  readonly rank: readonly number[];
  readonly trajectories: ReadingList["trajectories"];
}

/** Expects a dataset with facts and prompts. Leaves out empty lists. @throws the signal's reason */
export const chooseReading = async (dataset: Dataset, pass: number, signal: AbortSignal) => {
  const facts = getFacts(dataset);
  const breaks = new Breaks(signal);
  const groups = await listGroups(dataset, facts, breaks);
  const others = [...(await listByFacts(facts, groups, breaks)), await listSometimesSolved(groups, pass, breaks)];
  const worse = await listWorse(facts, groups, breaks);
  const lists: readonly ReadingList[] = [
    ...worse.map((list) => ({ topic: "what got worse" as const, ...list })),
    ...others.map((list) => ({ topic: "what else to read" as const, ...list })),
  ];
  return lists.filter(({ trajectories }) => trajectories.length > 0);
};

const listGroups = async ({ groups }: Dataset, { reward, walked }: Facts, breaks: Breaks) => {
  const listed: Group[] = [];
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue(bytesPerRow * groups.trajectoriesOf(group))) await breaks.take();
    const indexes = groups.isValid(group) ? groups.rowsOf(group) : [];
    const all = indexes.map((row, trajectory): Row => ({ group, trajectory, reward: reward.at(row), row }));
    const rows = all.filter(({ reward }) => Number.isFinite(reward));
    const rewards = rows.map(({ reward }) => reward);
    const { min, max } = findBounds(rewards);
    const best = rows.find(({ reward }) => reward === max);
    const worst = rows.find((row) => row.reward === min && row !== best) ?? best;
    const deviation = standardDeviation(rewards);
    const prompt = walked.prompt.at(indexes[0] ?? 0) ?? group;
    if (best && worst) listed.push({ best, worst, rows, deviation, prompt });
  }
  return listed;
};

const toList = (reason: string, selectedBy: string, candidates: Candidate[]): Omit<ReadingList, "topic"> => {
  const first = keepFirst(candidates).flatMap(({ trajectories }) => trajectories);
  return { reason, selectedBy, trajectories: first.slice(0, maxListed) };
};

const keepFirst = (candidates: Candidate[]) => {
  candidates.sort((a, b) => compareRanks(a.rank, b.rank)).splice(maxListed);
  return candidates;
};

const compareRanks = (a: readonly number[], b: readonly number[]) => {
  const at = a.findIndex((value, position) => value !== b[position]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
};

const read = ({ group, trajectory, reward }: Row, why: string) => ({ group, trajectory, reward, why });

const listWorse = async ({ walked }: Facts, groups: readonly Group[], breaks: Breaks) => {
  const bestOf = new Map<unknown, Row>();
  for (const { prompt, best } of groups) {
    if (breaks.isDue()) await breaks.take();
    if (best.reward > (bestOf.get(prompt)?.reward ?? Number.NEGATIVE_INFINITY)) bestOf.set(prompt, best);
  }
  const fallen = new Map<unknown, Candidate>();
  const [cut, failed]: [Candidate[], Candidate[]] = [[], []];
  for (const group of groups) {
    if (breaks.isDue()) await breaks.take();
    const { prompt } = group;
    const best = bestOf.get(prompt) ?? group.best;
    const rank = [group.worst.reward - best.reward, group.best.reward];
    const known = fallen.get(prompt);
    const isFirst = group.worst.reward < best.reward && (!known || compareRanks(rank, known.rank) < 0);
    const pair = [read(group.worst, "lowest of the prompt"), read(best, "best of the prompt")];
    if (isFirst) fallen.set(prompt, { rank, trajectories: pair });
    for (const row of group.rows) {
      if (breaks.isDue()) await breaks.take();
      const { characters, errors, isCut } = readRow(walked, row);
      if (isCut && row.reward === 0) addCandidate(cut, [-characters], read(row, `characters: ${characters}`));
      if (errors > 0 && row.reward < best.reward)
        addCandidate(failed, [row.reward, -errors], read(row, `tool errors: ${errors}`));
    }
  }
  const lowest: Candidate[] = [];
  for (const { rank, trajectories } of fallen.values()) {
    if (breaks.isDue()) await breaks.take();
    addCandidate(lowest, rank, ...trajectories);
  }
  return [
    toList(
      "the lowest rewards against the best of the same prompt",
      "reward − best reward of the prompt, then by the best reward of the group, from the lowest",
      lowest,
    ),
    toList("truncated, with the reward 0", "finish reason length, and reward 0; by characters from the highest", cut),
    toList(
      "the lowest rewards with a tool error",
      "tool errors ≥ 1, and a better reward for the same prompt; by reward from the lowest",
      failed,
    ),
  ];
};

const readRow = (walked: FactColumns, { row }: Row) => ({
  turns: walked.countAt(row, countIndexes.turns),
  characters: walked.countAt(row, countIndexes.characters),
  errors: walked.countAt(row, countIndexes.tool_errors),
  isCut: isCutOff(walked.finishReasons.at(walked.finishReasonOf(row))),
});

const addCandidate = (list: Candidate[], rank: readonly number[], ...trajectories: Candidate["trajectories"]) => {
  if (list.push({ rank, trajectories }) > maxCandidates) keepFirst(list);
};

const listByFacts = async ({ walked }: Facts, groups: readonly Group[], breaks: Breaks) => {
  const [allRewards, allLengths] = [new NumberColumn(), new NumberColumn()];
  for (const { rows } of groups) {
    if (breaks.isDue(bytesPerRow * rows.length)) await breaks.take();
    for (const row of rows) {
      allRewards.push(row.reward);
      const { turns, characters } = readRow(walked, row);
      if (turns > 0) allLengths.push(characters);
    }
  }
  const rewards = allRewards.values().sort();
  await breaks.take();
  const lengths = allLengths.values().sort();
  await breaks.take();
  const [high, few] = [percentile(rewards, 0.9), percentile(lengths, 0.1)];
  const [failed, short, cut]: [Candidate[], Candidate[], Candidate[]] = [[], [], []];
  const addRow = (row: Row) => {
    const { reward } = row;
    const { turns, characters, errors, isCut } = readRow(walked, row);
    const isHigh = reward >= high && reward > (rewards[0] ?? 0);
    const add = (list: Candidate[], rank: readonly number[], why: string) => addCandidate(list, rank, read(row, why));
    if (errors > 0) add(failed, [-reward, -errors], `tool errors: ${errors}`);
    if (isHigh && turns > 0 && characters <= few) add(short, [characters, -reward], `characters: ${characters}`);
    if (isHigh && isCut) add(cut, [-reward, -characters], "finish reason: length");
  };
  for (const { rows } of groups) {
    for (const row of rows) {
      if (breaks.isDue()) await breaks.take();
      addRow(row);
    }
  }
  const isHigh = `reward ≥ ${format(high)} (p90) and above the lowest`;
  const isShort = `characters ≤ ${format(few)} (p10)`;
  const byReward = (other: string) => `by reward, then by ${other}, from the highest`;
  return [
    toList("the highest rewards with a tool error", `tool errors ≥ 1; ${byReward("tool errors")}`, failed),
    toList("high rewards in few characters", `${isHigh}, and ${isShort}; by characters from the lowest`, short),
    toList("truncated, with a high reward", `finish reason length, and ${isHigh}; ${byReward("characters")}`, cut),
  ];
};

const listSometimesSolved = async (groups: readonly Group[], pass: number, breaks: Breaks) => {
  const candidates: Candidate[] = [];
  for (const { best, worst, rows, deviation } of groups) {
    if (breaks.isDue(bytesPerRow * rows.length)) await breaks.take();
    const solved = rows.filter(({ reward }) => isSolved(reward, pass)).length;
    if (solved === 0 || solved === rows.length) continue;
    const of = `of ${rows.length}, ${solved} solved`;
    addCandidate(candidates, [-deviation], read(best, `best ${of}`), read(worst, `worst ${of}`));
  }
  const selectedBy = `some rewards ≥ ${pass}, some below; by the standard deviation in the group, from the highest`;
  return toList("the best and the worst of a group that is sometimes solved", selectedBy, candidates);
};
