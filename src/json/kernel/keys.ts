/** Ids of keys: from 1 on for those that the program's user names; above `maxNamed` for others, as texts have them. */
import { byteAt, quote, same } from "./bytes";

export const maxNamed: u32 = 256;
const maxKeys: u32 = 2048;
const maxLearnedBytes: usize = 64;

/** The bytes of named and of learned keys, each with the quote after it. */
const namedRoom: usize = memory.data(1 << 14);
const namedRoomBytes: usize = 1 << 14;
const learnedRoom: usize = memory.data(1 << 15);
const learnedRoomBytes: usize = 1 << 15;
let namedBytes: usize = 0;
let learnedBytes: usize = 0;
let named: u32 = 0;
let learned: u32 = maxNamed;
/** True if the ids have to be given anew: there was no room for a key, or a learned one was named. */
export let isStale: bool = false;

/** A hash table of ids; 0 for none. A quarter of its slots may be taken. */
const slots: usize = memory.data(4 << 13, 8);
const slotBits: u32 = 13;

/** Of each id, eight bytes: the address of the key, its length, and how its values are read. */
const keys: usize = memory.data(8 * 2048, 8);

/** The values of the key are one node each, whatever is inside of them. */
export const isLeaf: u32 = 1;
/** The texts of the key are a part of the shape of their objects, if they have an id themselves. */
export const isChoice: u32 = 2;

/** The address that the next key is to be written to. */
export function keyRoom(): usize {
  return namedRoom + namedBytes;
}

/** Gives the key that was written there an id; 0 if there is no room. */
export function addKey(length: u32): u32 {
  if (named === maxNamed || namedBytes + usize(length) >= namedRoomBytes) return 0;
  const at = namedRoom + namedBytes;
  // Shapes have it by the id that it was given as a learned one.
  if (idOf(at, usize(length)) !== 0) isStale = true;
  namedBytes += usize(length) + 1;
  put(++named, at, usize(length));
  return named;
}

export function setKeyUse(id: u32, use: u32): void {
  store<u16>(keyOf(id), load<u16>(keyOf(id), 6) | use, 6);
}

export function usesOf(id: u32): u32 {
  return load<u16>(keyOf(id), 6);
}

export function addressOf(id: u32): usize {
  return usize(load<u32>(keyOf(id)));
}

export function lengthOf(id: u32): usize {
  return usize(load<u16>(keyOf(id), 4));
}

/** The id of a key; 0 for none. */
export function idOf(at: usize, length: usize): u32 {
  return load<u32>(slotOf(at, length));
}

/** The same; one without an id is given one. 0 if there is no room. */
export function learnedIdOf(at: usize, length: usize): u32 {
  const id = idOf(at, length);
  if (id !== 0 || length > maxLearnedBytes) return id;
  if (learned === maxKeys - 1 || learnedBytes + length >= learnedRoomBytes) {
    isStale = true;
    return 0;
  }
  const own = learnedRoom + learnedBytes;
  memory.copy(own, at, length);
  learnedBytes += length + 1;
  put(++learned, own, length);
  return learned;
}

/** Forgets the keys that were learned. */
export function forgetKeys(): void {
  isStale = false;
  learned = maxNamed;
  learnedBytes = 0;
  memory.fill(slots, 0, 4 << slotBits);
  for (let id: u32 = 1; id <= named; id++) store<u32>(slotOf(addressOf(id), lengthOf(id)), id);
}

function put(id: u32, at: usize, length: usize): void {
  store<u8>(at + length, u8(quote));
  store<u32>(keyOf(id), u32(at));
  store<u16>(keyOf(id), u16(length), 4);
  store<u32>(slotOf(at, length), id);
}

function keyOf(id: u32): usize {
  return keys + (usize(id) << 3);
}

/** The slot of a key: that with its id, or the one that it may have. */
function slotOf(at: usize, length: usize): usize {
  let head: u32 = length === 0 ? 0 : byteAt(at) | (byteAt(at + length - 1) << 8);
  if (length >= 4) head = load<u32>(at) ^ (load<u32>(at + length - 4) * 0x85ebca6b);
  let slot: u32 = ((head ^ u32(length)) * 0x9e3779b1) >> (32 - slotBits);
  while (true) {
    const own = slots + (usize(slot) << 2);
    const id = load<u32>(own);
    if (id === 0 || (lengthOf(id) === length && same(addressOf(id), at, length))) return own;
    slot = (slot + 1) & ((1 << slotBits) - 1);
  }
}
