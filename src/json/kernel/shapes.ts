/** Gives a number to each shape: a sequence of keys with the kind or shape of each value. */
import { isEqual } from "./bytes";
import { addressOf, forgetLearnedKeys, isStale, lengthOf } from "./keys";

export const noShape: u32 = 0;
export const nullShape: u32 = 1;
export const booleanShape: u32 = 2;
export const numberShape: u32 = 3;
export const stringShape: u32 = 4;
export const arrayShape: u32 = 5;
/** A member that is an object contributes only its kind, so that few shapes are needed. */
export const objectShape: u32 = 6;
/** The shape of a registered text (`shapeTextUse`) is this number plus the text's id. */
export const textShape: u32 = 256;
/** Shapes with members have higher numbers. */
export const emptyShape: u32 = 1024;

const maxShapes: u32 = 8192;
let count: u32 = 1;

/** Increases when `forgetShapes` clears the shapes, because later shapes reuse the numbers. */
export let generation: u32 = 0;

/** Eight bytes per shape: the last added member (key id and value shape), and the resulting shape. */
const shapes: usize = memory.data(8 * 8192, 8);

/** A hash table with 16 bytes per added member: shape, member, resulting shape. */
const slots: usize = memory.data(16 * 16384, 16);
const slotBits: u32 = 14;

/** If the tables are full, newer shapes may be more frequent than the stored shapes. */
export function forgetShapes(): void {
  if (!isFull && !isStale) return;
  isFull = false;
  generation++;
  count = 1;
  memory.fill(shapes, 0, 8 * usize(maxShapes));
  memory.fill(slots, 0, 16 << slotBits);
  memory.fill(firstKeys, 0, 2 * 4096);
  forgetLearnedKeys();
}

let isFull: bool = false;

export function nextShape(shape: u32, key: u32, value: u32): u32 {
  const last = shapes + (usize(shape - emptyShape) << 3);
  const member = key | (value << 16);
  if (load<u32>(last) === member) return load<u32>(last, 4);
  const next = value === noShape ? noShape : extend(shape, member);
  if (next === noShape) return noShape;
  store<u32>(last, member);
  store<u32>(last, next, 4);
  return next;
}

function extend(shape: u32, member: u32): u32 {
  let index: u32 = ((shape * 0x85ebca6b) ^ (member * 0x9e3779b1)) >> (32 - slotBits);
  while (true) {
    const slot = slots + (usize(index) << 4);
    const next = load<u32>(slot, 8);
    if (next === 0) {
      if (count === maxShapes) {
        isFull = true;
        return noShape;
      }
      store<u32>(slot, shape);
      store<u32>(slot, member, 4);
      store<u32>(slot, emptyShape + count, 8);
      return emptyShape + count++;
    }
    if (load<u32>(slot) === shape && load<u32>(slot, 4) === member) return next;
    index = (index + 1) & ((1 << slotBits) - 1);
  }
}

/** The ids of the first keys of objects. The lower bits of `before` in `beginShape` are the index. */
const firstKeys: usize = memory.data(2 * 4096, 8);
const firstKeyMask: u32 = 4095;
let firstKeySlot: usize = firstKeys;

/**
 * If the new object is a member, expects the shape of the earlier members. If the new object is an element, expects the
 * shape of the previous element, or the array's key before the first element. Returns `emptyShape`.
 */
export function beginShape(before: u32): u32 {
  firstKeySlot = firstKeys + (usize(before & firstKeyMask) << 1);
  return emptyShape;
}

export function setFirstKey(id: u32): void {
  store<u16>(firstKeySlot, u16(id));
}

/** Returns 0 if another key is at `at`. */
export function expectedKey(shape: u32, at: usize): u32 {
  if (shape === noShape) return 0;
  const id: u32 = load<u16>(shape === emptyShape ? firstKeySlot : shapes + (usize(shape - emptyShape) << 3));
  if (id === 0) return 0;
  // Compares the closing quote too, because a longer key can begin with the expected key.
  return isEqual(addressOf(id), at, lengthOf(id) + 1) ? id : 0;
}
