/** Warnings that the kernel counts (`countedRules` in src/check/kernel/layout.ts): a line with one is left, unless it is only counted by now. */
import { countedRules } from "../src/check/kernel/layout";

/** Bits of the rules that are only counted. */
let onlyCounted: u32 = 0;

/** Says of which rules nothing but the number is wanted, as bits. */
export function countOnly(rules: u32): void {
  onlyCounted = rules;
}

/** How often each rule is broken: in the lines of the batch, and in the line that is read. */
export const counted: usize = memory.data(4 * countedRules, 4);
const own: usize = memory.data(4 * countedRules, 4);

export function clearCounted(): void {
  memory.fill(counted, 0, 4 * countedRules);
}

/** A line, or another way to read it, begins. */
export function beginCounted(): void {
  memory.fill(own, 0, 4 * countedRules);
}

/** The line was taken. */
export function takeCounted(): void {
  for (let at: usize = 0; at < 4 * countedRules; at += 4) {
    store<u32>(counted + at, load<u32>(counted + at) + load<u32>(own + at));
  }
}

/** A rule is broken so often; whether that is only counted. */
export function isOnlyCounted(rule: i32, times: u32 = 1): bool {
  const at = own + (usize(rule) << 2);
  store<u32>(at, load<u32>(at) + times);
  return ((onlyCounted >> u32(rule)) & 1) !== 0;
}
