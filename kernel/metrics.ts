/** The names of metrics, each known by a number, and the metrics of a trajectory. */

import { metricName, metricSeries, metricType, mostSeries } from "../src/check/kernel/layout";
import { byteAt, closeBrace, isDigit, minus, openBrace, same } from "../src/json/kernel/bytes";
import { number, readNumber } from "../src/json/kernel/scalars";
import { isOnlyCounted } from "./counted";
import { FALSE, TRUE } from "./names";
import { behind, first, key, keyLength, memberAt, next, skip } from "./text";
import { putMetric } from "./written";

/** Names that are known at most, and the bytes of all of them; a line with more is left to others. */
const mostNames = mostSeries - metricSeries;
const mostBytes = 65536;

/** Where a name stands in `bytes`, how long it is, and the trajectory that it was last seen in. */
const entries: usize = memory.data(12 * mostNames);
const bytes: usize = memory.data(mostBytes);

/** Numbers of names, from 1, by their hashes: a table at most half full. */
const tableLength = 4096;
const table: usize = memory.data(2 * tableLength);
const tableMask: u32 = tableLength - 1;

/** Names that are known; the first are those that something else is called. */
export let nameCount: u32 = 0;
let byteCount: usize = 0;
let trajectory: u32 = 0;

export function nameStart(index: u32): usize {
  return usize(load<u32>(entries + usize(index) * 12));
}

export function nameLength(index: u32): u32 {
  return load<u32>(entries + usize(index) * 12, 4);
}

/** Names of what is calculated, which no metric can have. */
let reserved: u32 = 0;

/** Makes the bytes a name that no metric can have; to be called before anything is read. */
export function reserve(at: usize, length: u32): void {
  numberOf(at, usize(length));
  reserved = nameCount;
}

/** Which name a metric has; -1 for one that is not known and finds no room. */
function numberOf(at: usize, length: usize): i32 {
  let slot = hashOf(at, length) & tableMask;
  while (true) {
    const index = i32(load<u16>(table + (usize(slot) << 1))) - 1;
    if (index < 0) break;
    const entry = entries + usize(index) * 12;
    if (usize(load<u32>(entry, 4)) === length && same(usize(load<u32>(entry)), at, length)) return index;
    slot = (slot + 1) & tableMask;
  }
  if (nameCount === u32(mostNames) || byteCount + length > usize(mostBytes) || !isAscii(at, length)) return -1;
  const entry = entries + usize(nameCount) * 12;
  memory.copy(bytes + byteCount, at, length);
  store<u32>(entry, u32(bytes + byteCount));
  store<u32>(entry, u32(length), 4);
  byteCount += length;
  store<u16>(table + (usize(slot) << 1), u16(++nameCount));
  return i32(nameCount) - 1;
}

/** The golden ratio, which spreads hashes. */
const factor: u64 = (u64(0x9e3779b9) << 32) | 0x7f4a7c15;

function hashOf(at: usize, length: usize): u32 {
  let hash = u64(length);
  let rest = length;
  while (rest >= 8) {
    hash = (hash ^ load<u64>(at)) * factor;
    hash ^= hash >> 29;
    at += 8;
    rest -= 8;
  }
  if (rest > 0) {
    // The bytes behind belong to the same block of memory.
    hash = (hash ^ (load<u64>(at) << ((8 - u64(rest)) << 3))) * factor;
  }
  return u32(hash >> 40);
}

function isAscii(at: usize, length: usize): bool {
  for (let index: usize = 0; index < length; index++) if (byteAt(at + index) > 0x7f) return false;
  return true;
}

/** Place behind the metrics, which are written down. */
export function readMetrics(bracket: usize): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  trajectory++;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    // Names that are whole numbers have an order of their own in JavaScript.
    const index = isDigit(byteAt(key)) ? -1 : numberOf(key, keyLength);
    if (index < 0) return 0;
    const entry = entries + usize(index) * 12;
    if (load<u32>(entry, 8) === trajectory) return 0;
    store<u32>(entry, trajectory, 8);
    if (isMeasured(byteAt(value))) {
      value = readMetric(value);
      if (value === 0) return 0;
      if (index < i32(reserved)) {
        if (!isOnlyCounted(metricName)) return 0;
      } else if (!putMetric(u32(index), metric)) return 0;
    } else {
      if (!isOnlyCounted(metricType)) return 0;
      value = skip(value);
      if (value === 0) return 0;
    }
    at = next(value, closeBrace);
  }
  return behind;
}

/** Whether a value that begins so is a number, or true or false. */
function isMeasured(byte: u32): bool {
  return byte === 0x74 || byte === 0x66 || byte === minus || isDigit(byte);
}

let metric: f64 = 0;

function readMetric(at: usize): usize {
  const byte = byteAt(at);
  if (byte !== 0x74 && byte !== 0x66) {
    const end = readNumber(at);
    metric = number;
    return Number.isFinite(metric) ? end : 0;
  }
  metric = byte === 0x74 ? 1 : 0;
  if (byte === 0x74) return same(at, TRUE, 4) ? at + 4 : 0;
  return same(at, FALSE, 5) ? at + 5 : 0;
}
