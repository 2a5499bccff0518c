/** The keys that have an id: small numbers from 1 on, in the order in which they were told. */
import { byteAt, same } from "./bytes";

const roomBytes: usize = 1 << 14;
const names: usize = memory.data(1 << 14);
let used: usize = 0;

/** Slots of a hash table, eight bytes each: where a name stands, its length, and its id. A quarter of them may be taken. */
const slotCount: u32 = 1024;
const maxKeys: u32 = 256;
const slots: usize = memory.data(8 * 1024, 8);
let count: u32 = 0;

/** Where the next key is to be written to. */
export function keyRoom(): usize {
  return names + used;
}

/** Gives the key that was written there an id; 0 if there is no room. */
export function addKey(length: u32): u32 {
  const at = names + used;
  if (count === maxKeys || used + usize(length) > roomBytes) return 0;
  let slot = slotOf(at, usize(length));
  while (load<u32>(slot) !== 0) slot = nextSlot(slot);
  store<u32>(slot, u32(at));
  store<u16>(slot, u16(length), 4);
  store<u16>(slot, u16(++count), 6);
  used += usize(length);
  return count;
}

/** Keys whose values are leaves, by their ids. */
const leaves: usize = memory.data(257);

export function addLeafKey(id: u32): void {
  store<u8>(leaves + usize(id), 1);
}

/** True if the key of an id, or of no id, is a leaf key. */
export function hasLeafKey(id: u32): bool {
  return id <= maxKeys && load<u8>(leaves + usize(id)) !== 0;
}

/** The id of a key; 0 for none. */
export function idOf(at: usize, length: usize): u32 {
  for (let slot = slotOf(at, length); load<u32>(slot) !== 0; slot = nextSlot(slot)) {
    if (usize(load<u16>(slot, 4)) === length && same(usize(load<u32>(slot)), at, length)) return load<u16>(slot, 6);
  }
  return 0;
}

function slotOf(at: usize, length: usize): usize {
  let head = length === 0 ? 0 : byteAt(at) | (byteAt(at + length - 1) << 8);
  if (length >= 4) head = load<u32>(at) ^ (load<u32>(at + length - 4) * 0x85ebca6b);
  return slots + (usize(((head ^ u32(length)) * 0x9e3779b1) >> 22) << 3);
}

function nextSlot(slot: usize): usize {
  const next = slot + 8;
  return next === slots + (usize(slotCount) << 3) ? slots : next;
}
