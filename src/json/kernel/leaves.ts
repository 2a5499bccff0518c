/** Counts the elements of the lists in a leaf whose keys have `countedUse`. */
import { countedUse, usesOf } from "./keys";
import { encodedKey, keyIdOf, nodeBytes } from "./nodes";

/** The node of the last value that is directly in the leaf, if its key has the use; or else 0. */
export let countedValue: usize = 0;
let count: u32 = 0;
/** A bit for each of these keys. Few keys have the same bit. */
let keyBits: u64 = 0;
/** True if a key has escapes, or if a key with the use may be repeated. */
let isUncounted: bool = false;

const uncounted: u32 = 0x80000000;

export function beginLeaf(): void {
  countedValue = 0;
  count = 0;
  keyBits = 0;
  isUncounted = false;
}

/** @param key the node of a key that is directly in the leaf */
export function beginMember(key: usize): void {
  const id = keyIdOf(key);
  const isCounted = (usesOf(id) & countedUse) !== 0;
  const bit: u64 = isCounted ? 1 << u64(id & 63) : 0;
  countedValue = isCounted ? key + nodeBytes : 0;
  if (load<u32>(key, 12) === encodedKey || (keyBits & bit) !== 0) isUncounted = true;
  keyBits |= bit;
}

export function countElement(): void {
  count++;
}

export function detailOfLeaf(): u32 {
  return isUncounted ? uncounted : 0 - count;
}
