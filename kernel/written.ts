/**
 * What is written down of lines, for JavaScript to read: 32-bit words and doubles, aligned to eight bytes.
 *
 * - A line: kind, line from 0, start, end of the line, start and end of its value, and of a group: trajectories,
 *   exceptions; of a trajectory: start and length of its group key, 0 where it has none. Then the place of the next line,
 *   and a word of nothing.
 * - For each trajectory: the doubles reward and policy version (NaN: none); the words turns, characters, print, metrics.
 * - For each metric: the number of its name, a word of nothing, the double.
 */

const bytes: u32 = 1 << 18;
const room: usize = memory.data(1 << 18, 8);

/** Bytes that a line, and a trajectory without metrics, take. */
export const lineBytes: usize = 40;
export const trajectoryBytes: usize = 32;
const metricBytes: usize = 16;

/** Place behind what was written. */
export let cursor: usize = room;

/** Whether something did not find room. */
export let full: bool = false;

export function written(): usize {
  return room;
}

export function rewind(to: usize): void {
  cursor = to;
}

export function empty(): void {
  cursor = room;
  full = false;
}

/** What found no room is not missed. */
export function enough(): void {
  full = false;
}

/** Whether a trajectory or a metric more finds room; there is always room for one line more. */
export function isRoom(): bool {
  if (cursor + trajectoryBytes + lineBytes <= room + usize(bytes)) return true;
  full = true;
  return false;
}

/** Takes the place of a line or a trajectory, which is written when all of it is known. */
export function reserveBytes(size: usize): usize {
  const at = cursor;
  cursor += size;
  return at;
}

export function putMetric(name: u32, value: f64): void {
  store<u32>(cursor, name);
  store<f64>(cursor, value, 8);
  cursor += metricBytes;
}
