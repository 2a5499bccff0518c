/** A short print of a trajectory's bytes, which tells most of those that are not equal apart (kernel/print.ts). */
import type { Span } from "../../../json/walk.ts";

const factor = 0x9e3779b1;

/** Bytes that are looked at together, as sixteen words. */
const roundBytes = 64;

const lanes = new Int32Array(16);

const mixed = (word: number, other: number): number => {
  const product = Math.imul(word ^ other, factor);
  return product ^ (product >>> 15);
};

/** The same for the same bytes, and hardly ever for others: 32 bits, never 0. */
export const printOf = (bytes: Buffer, { start, end }: Span): number => {
  for (let lane = 0; lane < lanes.length; lane++) lanes[lane] = 1 + (lane >>> 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = start;
  for (; at + roundBytes <= end; at += roundBytes) takeRound(view, at);
  const rest = new Uint8Array(roundBytes);
  rest.set(bytes.subarray(at, end));
  takeRound(new DataView(rest.buffer), 0);
  let print = end - start;
  for (let lane = 0; lane < 4; lane++) print = mixed(print, laneOf(lane));
  return print >>> 0 || 1;
};

const takeRound = (view: DataView, at: number): void => {
  for (let lane = 0; lane < lanes.length; lane++) {
    lanes[lane] = mixed(lanes[lane] ?? 0, view.getInt32(at + 4 * lane, true));
  }
};

/** What four rounds of words make of one place in each. */
const laneOf = (lane: number): number => {
  const [a = 0, b = 0, c = 0, d = 0] = [lanes[lane], lanes[lane + 4], lanes[lane + 8], lanes[lane + 12]];
  return mixed(mixed(mixed(a, b), c), d);
};
