/** What is written down of the lines that were taken, for JavaScript to read: columns of numbers, each in a row. */

/** Lines, trajectories and metrics that there is room for; once one of them is full, the rest of the input waits. */
export const mostLines: u32 = 1024;
export const mostTrajectories: u32 = 4096;
export const mostMetrics: u32 = 16384;

/** Of each line, as doubles: where its value begins and how long it is, and the line's number in the input. */
export const starts: usize = memory.data(8 * 1024, 8);
export const lengths: usize = memory.data(8 * 1024, 8);
export const numbers: usize = memory.data(8 * 1024, 8);
/** How many trajectories it has, and exceptions in their place; what is no group has none of these. */
export const counts: usize = memory.data(8 * 1024, 8);
export const exceptions: usize = memory.data(8 * 1024, 8);
/** The newest policy version, NaN where there is none; the deviation of the rewards, NaN where there are not two. */
export const versions: usize = memory.data(8 * 1024, 8);
export const deviations: usize = memory.data(8 * 1024, 8);
/** As words: whether it is a group, whether its rewards are all equal, and where its group key begins and how long it is. */
export const groups: usize = memory.data(4 * 1024, 8);
export const equals: usize = memory.data(4 * 1024, 8);
export const keyStarts: usize = memory.data(4 * 1024, 8);
export const keyLengths: usize = memory.data(4 * 1024, 8);

/** Of each trajectory, as doubles: reward, turns, characters; as words: print, and how many metrics it has. */
export const rewards: usize = memory.data(8 * 4096, 8);
export const turnCounts: usize = memory.data(8 * 4096, 8);
export const characterCounts: usize = memory.data(8 * 4096, 8);
export const prints: usize = memory.data(4 * 4096, 8);

/** Of each metric: the number of its name, a word; its value, a double. */
export const metricNames: usize = memory.data(4 * 16384, 8);
export const metricValues: usize = memory.data(8 * 16384, 8);

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
  if (trajectoryCount < mostTrajectories) return i32(trajectoryCount++);
  full = true;
  return -1;
}

/** Whether there was room for a metric. */
export function putMetric(name: u32, value: f64): bool {
  if (metricCount === mostMetrics) {
    full = true;
    return false;
  }
  store<u32>(metricNames + (usize(metricCount) << 2), name);
  store<f64>(metricValues + (usize(metricCount) << 3), value);
  metricCount++;
  return true;
}
