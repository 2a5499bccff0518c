/** What is written down of the lines that were taken, for JavaScript to read: columns of numbers, each in a row. */

import { mostLines, mostMetrics, mostTrajectories } from "../src/check/kernel/layout";

/** Of each line, as doubles: where its value begins and how long it is, and the number of the line. */
export const starts: usize = memory.data(8 * mostLines, 8);
export const lengths: usize = memory.data(8 * mostLines, 8);
export const numbers: usize = memory.data(8 * mostLines, 8);
/** What it is, in bits; how many trajectories it has; the reward of one that is no group, and the newest policy version. */
export const flags: usize = memory.data(8 * mostLines, 8);
export const counts: usize = memory.data(8 * mostLines, 8);
export const lineRewards: usize = memory.data(8 * mostLines, 8);
export const versions: usize = memory.data(8 * mostLines, 8);
/** What its trajectories have to train on, and what they lack: a byte of bits. */
export const trainings: usize = memory.data(mostLines, 8);
/** As words: where its group key begins, 0 for none, and how long it is. */
export const keyStarts: usize = memory.data(4 * mostLines, 8);
export const keyLengths: usize = memory.data(4 * mostLines, 8);

/** Of each trajectory, as doubles: reward, turns, characters; as words: print, choices, and those with logprobs. */
export const rewards: usize = memory.data(8 * mostTrajectories, 8);
export const turnCounts: usize = memory.data(8 * mostTrajectories, 8);
export const characterCounts: usize = memory.data(8 * mostTrajectories, 8);
export const prints: usize = memory.data(4 * mostTrajectories, 8);
export const choiceCounts: usize = memory.data(4 * mostTrajectories, 8);
export const scoredCounts: usize = memory.data(4 * mostTrajectories, 8);

/** Of each metric: the number of its name, a word; its value, a double. */
export const metricNames: usize = memory.data(4 * mostMetrics, 8);
export const metricValues: usize = memory.data(8 * mostMetrics, 8);

export let lineCount: u32 = 0;
export let trajectoryCount: u32 = 0;
export let metricCount: u32 = 0;

/** Whether something found no room. */
export let full: bool = false;

export function clear(): void {
  lineCount = 0;
  rewind(0, 0);
}

/** Forgets the trajectories and metrics behind so many. */
export function rewind(trajectories: u32, metrics: u32): void {
  trajectoryCount = trajectories;
  metricCount = metrics;
  full = false;
}

export function putLine(): u32 {
  return lineCount++;
}

/** Takes a place for a trajectory; -1 where there is none. */
export function putTrajectory(): i32 {
  if (trajectoryCount < u32(mostTrajectories)) return i32(trajectoryCount++);
  full = true;
  return -1;
}

/** Whether there was room for a metric. */
export function putMetric(name: u32, value: f64): bool {
  if (metricCount === u32(mostMetrics)) {
    full = true;
    return false;
  }
  store<u32>(metricNames + (usize(metricCount) << 2), name);
  store<f64>(metricValues + (usize(metricCount) << 3), value);
  metricCount++;
  return true;
}
