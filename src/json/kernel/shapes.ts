/**
 * Shapes of objects: a small number for each sequence of keys, kinds of values and shapes of the objects in them. Objects of one
 * shape have the same nodes, but for what is inside of arrays. A shape is made member by member.
 */

import { same } from "./bytes";
import { addressOf, forgetKeys, isStale, lengthOf } from "./keys";

/** Kinds of values in shapes. A text that has an id itself is `textShape` and its id. */
export const noShape: u32 = 0;
export const nullShape: u32 = 1;
export const booleanShape: u32 = 2;
export const numberShape: u32 = 3;
export const stringShape: u32 = 4;
export const arrayShape: u32 = 5;
export const leafShape: u32 = 6;
export const textShape: u32 = 256;
/** The shape of an object without members; those of the others follow. */
export const emptyShape: u32 = 1024;

const maxShapes: u32 = 8192;
let count: u32 = 1;

/** Counts how often shapes were forgotten: the numbers mean others then. */
export let generation: u32 = 0;

/** Of each shape, 8 bytes: the member that followed it last, as the id of its key and its value's shape, and the shape they make. */
const shapes: usize = memory.data(8 * 8192, 8);

/** A hash table of members, 16 bytes each: a shape, the key and value that follow, and the shape that they make. */
const slots: usize = memory.data(16 * 16384, 16);
const slotBits: u32 = 14;

/** Forgets the shapes and learned keys if there was no room for more, since others may come more often, or if ids have changed. */
export function forgetShapes(): void {
  if (!isFull && !isStale) return;
  isFull = false;
  generation++;
  count = 1;
  memory.fill(shapes, 0, 8 * usize(maxShapes));
  memory.fill(slots, 0, 16 << slotBits);
  memory.fill(starts, 0, 2 * 4096);
  forgetKeys();
}

let isFull: bool = false;

/** The shape of an object of a shape after another member. */
export function nextShape(shape: u32, key: u32, value: u32): u32 {
  const own = shapes + (usize(shape - emptyShape) << 3);
  const member = key | (value << 16);
  if (load<u32>(own) === member) return load<u32>(own, 4);
  const next = value === noShape ? noShape : found(shape, member);
  if (next === noShape) return noShape;
  store<u32>(own, member);
  store<u32>(own, next, 4);
  return next;
}

function found(shape: u32, member: u32): u32 {
  let slot: u32 = ((shape * 0x85ebca6b) ^ (member * 0x9e3779b1)) >> (32 - slotBits);
  while (true) {
    const own = slots + (usize(slot) << 4);
    const next = load<u32>(own, 8);
    if (next === 0) {
      if (count === maxShapes) {
        isFull = true;
        return noShape;
      }
      store<u32>(own, shape);
      store<u32>(own, member, 4);
      store<u32>(own, emptyShape + count, 8);
      return emptyShape + count++;
    }
    if (load<u32>(own) === shape && load<u32>(own, 4) === member) return next;
    slot = (slot + 1) & ((1 << slotBits) - 1);
  }
}

/** The id of the key that followed objects of a shape before, if it is here too; 0 if not. */
export function expectedKey(shape: u32, at: usize): u32 {
  return expected(load<u16>(shapes + (usize(shape - emptyShape) << 3)), at);
}

/** By what was before an object, the id of its first key. */
const starts: usize = memory.data(2 * 4096, 8);
const startMask: u32 = 4095;
let start: usize = starts;

/** Begins an object in an object of a shape, or after an element of a shape. */
export function beginShape(before: u32): void {
  start = starts + (usize(before & startMask) << 1);
}

/** The id of the first key that the object that began is expected to have, if it is here; 0 if not. */
export function expectedStart(at: usize): u32 {
  return expected(load<u16>(start), at);
}

export function setStart(id: u32): void {
  store<u16>(start, u16(id));
}

function expected(id: u32, at: usize): u32 {
  if (id === 0) return 0;
  // The quote after it is compared too.
  const length = u32(lengthOf(id)) + 1;
  const key = addressOf(id);
  if (length > 16) return same(key, at, usize(length)) ? id : 0;
  const differs = ~i8x16.bitmask(i8x16.eq(v128.load(key), v128.load(at)));
  return (differs & ((1 << length) - 1)) === 0 ? id : 0;
}
