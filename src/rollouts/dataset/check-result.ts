/** Describes the result of a run of `check`. */
import type { Failure, Problem } from "../../failure.ts";
import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { compareTexts } from "../../text/sentences.ts";
import type { Groups } from "../index/groups.ts";
import { invalidInput } from "../rules/failures.ts";
import { countUnreadable, type Dataset } from "./read-dataset.ts";

type ReadCounts = Readonly<Record<"read" | "rejected", number>>;

export interface CheckResult {
  readonly status: "valid" | "invalid";
  readonly split: string | undefined;
  readonly groups: ReadCounts;
  readonly trajectories: ReadCounts;
  readonly problems: readonly Problem[];
  readonly omittedProblemCount: number;
  readonly failure: Failure | undefined;
  readonly unreadable: number;
}

/** @param canSkip true if the command has `--on-invalid skip` */
export const composeCheckResult = (dataset: Dataset, canSkip = false): CheckResult => {
  const { problems } = dataset.scan;
  const { groups, trajectories } = countRead(dataset.groups);
  const valid = canSkip ? groups.read - groups.rejected : undefined;
  const failure = problems.errors > 0 ? invalidInput(problems, { valid }) : undefined;
  const stored = problems.sorted();
  return {
    status: failure ? "invalid" : "valid",
    split: dataset.split,
    groups,
    trajectories,
    problems: stored,
    omittedProblemCount: problems.counts.reduce((sum, { count }) => sum + count, 0) - stored.length,
    failure,
    unreadable: countUnreadable(dataset),
  };
};

export const countRead = (groups: Groups) => {
  const counts = { groups: { read: groups.count, rejected: 0 }, trajectories: { read: 0, rejected: 0 } };
  const areValid = groups.areValidParts;
  for (let group = 0; group < groups.count; group++) {
    const trajectories = groups.trajectoriesOf(group);
    counts.trajectories.read += trajectories;
    if (areValid || groups.isValid(group)) continue;
    counts.groups.rejected++;
    counts.trajectories.rejected += trajectories;
  }
  return counts;
};

/** @throws the signal's reason */
export const computeMetrics = async ({ scan: { tally } }: Dataset, split?: string, signal?: AbortSignal) => {
  const breaks = new Breaks(signal);
  const means: [string, number][] = [];
  const names = await sortWithBreaks([...tally.byName.keys()], compareTexts, breaks);
  for (const mean of tally.groups === 0 ? [] : tally.listMetrics(split, names)) {
    if (breaks.isDue()) await breaks.take();
    means.push(mean);
  }
  return Object.fromEntries(means);
};
