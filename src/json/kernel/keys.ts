/** Gives ids to keys: from 1 for registered keys, above `maxRegistered` for keys learned from texts. */
import { byteAt, isEqual, quote } from "./bytes";
import { bytesDigest } from "./hash";

export const maxRegistered: u32 = 256;
const maxKeys: u32 = 2048;
const maxLearnedBytes: usize = 64;

/** A quote follows each key. */
const registeredKeys: usize = memory.data(1 << 14);
const registeredSpace: usize = 1 << 14;
const learnedKeys: usize = memory.data(1 << 15);
const learnedSpace: usize = 1 << 15;
let registeredBytes: usize = 0;
let learnedBytes: usize = 0;
let registered: u32 = 0;
let lastLearnedId: u32 = maxRegistered;
/** True if a key had no space, or if a learned key was registered. */
export let isStale: bool = false;

/** A hash table of ids, with 0 in free slots. At most a quarter of the slots is used. */
const slots: usize = memory.data(4 << 13, 8);
const slotBits: u32 = 13;

/** Sixteen bytes per id: the key's address (4), length (2), uses (2) and digest (8). */
const keys: usize = memory.data(16 * 2048, 8);

/** The bit of keys in `KeyUses.leafKeys`. */
export const leafUse: u32 = 1;
/** The bit of keys in `KeyUses.shapeTexts`. */
export const shapeTextUse: u32 = 2;
/** The bits of keys in `KeyUses.sampledKeys` and `KeyUses.unsampledKeys`. */
export const sampledUse: u32 = 4;
export const unsampledUse: u32 = 8;
/** The bit of keys in `KeyUses.countedKeys`. */
export const countedUse: u32 = 16;

export function keyAddress(): usize {
  return registeredKeys + registeredBytes;
}

/** Expects the key at `keyAddress`. */
export function addKey(length: usize): void {
  if (registered === maxRegistered || registeredBytes + length >= registeredSpace) return;
  const at = keyAddress();
  // If the key was learned, shapes contain the old id.
  if (idOf(at, length) !== 0) isStale = true;
  registeredBytes += length + 1;
  addId(++registered, at, length);
}

export function setKeyUse(id: u32, use: u32): void {
  store<u16>(recordOf(id), load<u16>(recordOf(id), 6) | use, 6);
}

export function usesOf(id: u32): u32 {
  return load<u16>(recordOf(id), 6);
}

export function addressOf(id: u32): usize {
  return usize(load<u32>(recordOf(id)));
}

export function lengthOf(id: u32): usize {
  return usize(load<u16>(recordOf(id), 4));
}

export function keyDigestOf(id: u32): u64 {
  return load<u64>(recordOf(id), 8);
}

/** Returns 0 for a key without an id. */
export function idOf(at: usize, length: usize): u32 {
  return load<u32>(slotOf(at, length));
}

/** If the key has no id, learns the key. Returns 0 if the key is too long or the space is full. */
export function learnedIdOf(at: usize, length: usize): u32 {
  const id = idOf(at, length);
  if (id !== 0 || length > maxLearnedBytes) return id;
  if (lastLearnedId === maxKeys - 1 || learnedBytes + length >= learnedSpace) {
    isStale = true;
    return 0;
  }
  const copy = learnedKeys + learnedBytes;
  memory.copy(copy, at, length);
  learnedBytes += length + 1;
  addId(++lastLearnedId, copy, length);
  return lastLearnedId;
}

export function forgetLearnedKeys(): void {
  isStale = false;
  lastLearnedId = maxRegistered;
  learnedBytes = 0;
  memory.fill(slots, 0, 4 << slotBits);
  for (let id: u32 = 1; id <= registered; id++) store<u32>(slotOf(addressOf(id), lengthOf(id)), id);
}

function addId(id: u32, at: usize, length: usize): void {
  store<u8>(at + length, u8(quote));
  store<u32>(recordOf(id), u32(at));
  store<u16>(recordOf(id), u16(length), 4);
  store<u64>(recordOf(id), bytesDigest(at, at + length), 8);
  store<u32>(slotOf(at, length), id);
}

function recordOf(id: u32): usize {
  return keys + (usize(id) << 4);
}

function slotOf(at: usize, length: usize): usize {
  let ends: u32 = length === 0 ? 0 : byteAt(at) | (byteAt(at + length - 1) << 8);
  if (length >= 4) ends = load<u32>(at) ^ (load<u32>(at + length - 4) * 0x85ebca6b);
  let index: u32 = ((ends ^ u32(length)) * 0x9e3779b1) >> (32 - slotBits);
  while (true) {
    const slot = slots + (usize(index) << 2);
    const id = load<u32>(slot);
    if (id === 0 || (lengthOf(id) === length && isEqual(addressOf(id), at, length))) return slot;
    index = (index + 1) & ((1 << slotBits) - 1);
  }
}
