/** A trajectory (interface 2.1) with no findings. */

import { metadataNested, noAssistant, nullField, policyOrder, startTimeZone } from "../src/check/kernel/layout";
import { withChoice, withLogprobs, withoutChoice, withoutLogprobs } from "../src/groups/metrics/constants";
import {
  byteAt,
  closeBrace,
  closeBracket,
  isDigit,
  minus,
  openBrace,
  openBracket,
  point,
  quote,
  same,
} from "../src/json/kernel/bytes";
import { isWord, number, readNumber } from "../src/json/kernel/scalars";
import { endOfPlainString } from "../src/json/kernel/strings";
import { isOnlyCounted } from "./counted";
import { choices, hasAssistant, readMessages, said, scored, turns } from "./messages";
import { readMetrics } from "./metrics";
import {
  ADDITIONAL_HISTORIES,
  EXCEPTION,
  EXCEPTIONS,
  FINAL_POLICY_VERSION,
  INITIAL_POLICY_VERSION,
  LOGS,
  MESSAGES_AND_CHOICES,
  METADATA,
  METRICS,
  REWARD,
  START_TIME,
  TOOLS,
  TRAJECTORIES,
  TRAJECTORY_GROUPS,
} from "./names";
import { printOf } from "./print";
import { behind, first, key, keyLength, memberAt, next, skip } from "./text";
import { areDifferent, isSettled, newTools, putName, readTools, toolBits } from "./tools";
import { characterCounts, choiceCounts, prints, putTrajectory, rewards, scoredCounts, turnCounts } from "./written";

/** The name of the key that puts trajectories into one group; one that was given must stand in each, or in its metadata. */
const groupBy: usize = memory.data(256);
let groupByLength: usize = 0;
let isGiven: bool = false;

/** Where the name of the group key is written to. */
export function groupName(): usize {
  return groupBy;
}

/** Says how long the name of the group key is, and whether it was given. */
export function setGroupName(length: u32, given: bool): void {
  groupByLength = usize(length);
  isGiven = given;
}

/** The group key of the trajectory that was read last, as it stands in the line; 0 where it has none. */
export let groupKey: usize = 0;
export let groupKeyLength: usize = 0;

/** The newest policy version of the trajectory that was read last; NaN where it names none. */
export let version: f64 = NaN;

/** What the trajectory that was read last has to train on, and what it lacks, in bits. */
export let training: u32 = 0;

/** What a trajectory has. */
const withMessages: u32 = 1;
const withTools: u32 = 2;
const withHistories: u32 = 4;
const withReward: u32 = 8;
const withInitial: u32 = 16;
const withFinal: u32 = 32;
const withMetrics: u32 = 64;
const withMetadata: u32 = 128;
const withLogs: u32 = 256;
const withStart: u32 = 512;
const withKey: u32 = 1024;
const needed: u32 = withMessages | withReward;
/** What may be null, which is warned of. */
const optional: u32 =
  withTools | withHistories | withInitial | withFinal | withMetrics | withMetadata | withLogs | withStart;

/** Whether the trajectory was left because it holds a group's keys. */
export let isGroup: bool = false;

/** Place behind a trajectory, of which everything is written down; 0 where it is left to others. `alone`: it is the line. */
export function readTrajectory(bracket: usize, alone: bool): usize {
  isGroup = false;
  if (byteAt(bracket) !== openBrace) return 0;
  const place = putTrajectory();
  if (place < 0) return 0;
  newTools();
  let seen: u32 = 0;
  let reward: f64 = 0;
  let initial: f64 = NaN;
  let final: f64 = NaN;
  groupKey = 0;
  nestedKey = 0;
  let ownKey: usize = 0;
  let ownKeyLength: usize = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    const bit = fieldOf(key, keyLength);
    if ((seen & bit) !== 0) return 0;
    seen |= bit;
    if ((bit & optional) !== 0 && byteAt(value) === 0x6e) {
      if (!isOnlyCounted(nullField)) return 0;
      value = isWord(value);
      if (value === 0) return 0;
      at = next(value, closeBrace);
      continue;
    }
    switch (bit) {
      case withMessages:
        value = readMessages(value, true);
        break;
      case withReward:
        value = readNumber(value);
        reward = number;
        if (!Number.isFinite(reward)) return 0;
        break;
      case withMetrics:
        value = readMetrics(value);
        break;
      case withMetadata:
        value = readMetadata(value, alone && isGiven);
        break;
      case withTools:
        value = readTools(value);
        break;
      case withLogs:
        value = readStrings(value);
        break;
      case withInitial:
        value = readNumber(value);
        initial = number;
        if (!isWhole(initial)) return 0;
        break;
      case withFinal:
        value = readNumber(value);
        final = number;
        if (!isWhole(final)) return 0;
        break;
      case withStart:
        value = readStart(value);
        break;
      case withHistories:
        value = readHistories(value);
        break;
      default:
        // What it may say is for others to look at.
        if (isException(key, keyLength) && byteAt(value) !== 0x6e) return 0;
        if (alone) {
          if (isGroupName(key, keyLength)) {
            isGroup = true;
            return 0;
          }
          if (keyLength === groupByLength && same(key, groupBy, groupByLength)) {
            if ((seen & withKey) !== 0) return 0;
            seen |= withKey;
            value = readGroupKey(value);
            ownKey = groupKey;
            ownKeyLength = groupKeyLength;
            break;
          }
        }
        value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  const end = behind;
  if (end === 0 || (seen & needed) !== needed || !isSettled()) return 0;
  if (!hasAssistant && !isOnlyCounted(noAssistant)) return 0;
  if (final < initial && !isOnlyCounted(policyOrder)) return 0;
  groupKey = ownKey !== 0 ? ownKey : nestedKey;
  groupKeyLength = ownKey !== 0 ? ownKeyLength : nestedKeyLength;
  if (alone && isGiven && groupKey === 0) return 0;
  version = Number.isNaN(final) ? initial : final;
  training = toolBits() | (choices !== 0 ? withChoice : hasAssistant ? withoutChoice : 0);
  if (scored !== 0) training |= withLogprobs;
  if (scored < choices) training |= withoutLogprobs;
  const index = usize(place);
  store<u32>(choiceCounts + (index << 2), choices);
  store<u32>(scoredCounts + (index << 2), scored);
  store<f64>(rewards + (index << 3), reward);
  store<f64>(turnCounts + (index << 3), f64(turns));
  store<f64>(characterCounts + (index << 3), f64(said));
  store<u32>(prints + (index << 2), printOf(bracket, end));
  return end;
}

function fieldOf(at: usize, length: usize): u32 {
  switch (u32(length)) {
    case 4:
      return same(at, LOGS, 4) ? withLogs : 0;
    case 5:
      return same(at, TOOLS, 5) ? withTools : 0;
    case 6:
      return same(at, REWARD, 6) ? withReward : 0;
    case 7:
      return same(at, METRICS, 7) ? withMetrics : 0;
    case 8:
      return same(at, METADATA, 8) ? withMetadata : 0;
    case 10:
      return same(at, START_TIME, 10) ? withStart : 0;
    case 20:
      return longFieldOf(at);
    case 22:
      return same(at, INITIAL_POLICY_VERSION, 22) ? withInitial : 0;
  }
  return 0;
}

function longFieldOf(at: usize): u32 {
  if (same(at, MESSAGES_AND_CHOICES, 20)) return withMessages;
  if (same(at, FINAL_POLICY_VERSION, 20)) return withFinal;
  return same(at, ADDITIONAL_HISTORIES, 20) ? withHistories : 0;
}

function isException(at: usize, length: usize): bool {
  return (length === 9 && same(at, EXCEPTION, 9)) || (length === 10 && same(at, EXCEPTIONS, 10));
}

function isGroupName(at: usize, length: usize): bool {
  return (length === 12 && same(at, TRAJECTORIES, 12)) || (length === 17 && same(at, TRAJECTORY_GROUPS, 17));
}

function isWhole(value: f64): bool {
  return Number.isFinite(value) && Math.trunc(value) === value;
}

function readStrings(bracket: usize): usize {
  if (byteAt(bracket) !== openBracket) return 0;
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    if (byteAt(at) !== quote) return 0;
    const text = skip(at);
    if (text === 0) return 0;
    at = next(text, closeBracket);
  }
  return behind;
}

/** The group key in the metadata. */
let nestedKey: usize = 0;
let nestedKeyLength: usize = 0;

/** Keys of metadata that are held against each other, where a value is nested. */
const mostKeys = 64;
const metadataKeys: usize = memory.data(8 * mostKeys, 4);

function readMetadata(bracket: usize, withGroupKey: bool): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  let seen = false;
  let count: u32 = 0;
  let hasNested = false;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (count < u32(mostKeys)) putName(metadataKeys, count, key, keyLength);
    count++;
    const byte = byteAt(value);
    if (byte === openBrace || byte === openBracket) {
      if (!isOnlyCounted(metadataNested)) return 0;
      hasNested = true;
    }
    if (withGroupKey && keyLength === groupByLength && same(key, groupBy, groupByLength)) {
      if (seen) return 0;
      seen = true;
      value = readGroupKey(value);
      nestedKey = groupKey;
      nestedKeyLength = groupKeyLength;
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  // Of a key that stands twice only the last value counts.
  return hasNested && (count > u32(mostKeys) || !areDifferent(metadataKeys, count)) ? 0 : behind;
}

/** Place behind a group key that JSON spells as it stands here; null is none. */
function readGroupKey(at: usize): usize {
  groupKey = 0;
  const byte = byteAt(at);
  if (byte === 0x6e) return isWord(at);
  let end = at;
  if (byte === quote) {
    const close = endOfPlainString(at + 1);
    if (close === 0) return 0;
    for (let index = at; index < close; index++) if (byteAt(index) > 0x7f) return 0;
    end = close + 1;
  } else if (byte === 0x74 || byte === 0x66) {
    end = isWord(at);
    if (end === 0) return 0;
  } else {
    const digits = byte === minus ? at + 1 : at;
    end = digits;
    while (isDigit(byteAt(end))) end++;
    const length = end - digits;
    if (length === 0) return 0;
    // A zero may be alone, and has no sign.
    if (byteAt(digits) === 0x30 && (length > 1 || byte === minus)) return 0;
    if (byteAt(end) === point || (byteAt(end) | 0x20) === 0x65) return 0;
  }
  groupKey = at;
  groupKeyLength = end - at;
  return end;
}

function readHistories(bracket: usize): usize {
  if (byteAt(bracket) !== openBracket) return 0;
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    const history = readHistory(at);
    if (history === 0) return 0;
    at = next(history, closeBracket);
  }
  return behind;
}

function readHistory(bracket: usize): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  let seen = false;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (keyLength === 20 && same(key, MESSAGES_AND_CHOICES, 20)) {
      if (seen) return 0;
      seen = true;
      value = readMessages(value, false);
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  return seen ? behind : 0;
}

/** Place behind a start time: a date that there is, a time to the second, and its zone, or none. */
function readStart(at: usize): usize {
  if (byteAt(at) !== quote) return 0;
  const start = at + 1;
  const end = endOfPlainString(start);
  if (end < start + 19 || !isDate(start) || !isTime(start + 10)) return 0;
  let zone = start + 19;
  if (byteAt(zone) === point) {
    const fraction = ++zone;
    while (isDigit(byteAt(zone))) zone++;
    if (zone === fraction) return 0;
  }
  if (zone === end) return isOnlyCounted(startTimeZone) ? end + 1 : 0;
  return isZone(zone, end) ? end + 1 : 0;
}

function areDigits(at: usize, count: usize): bool {
  for (let index: usize = 0; index < count; index++) if (!isDigit(byteAt(at + index))) return false;
  return true;
}

/** The number that two digits are. */
function pair(at: usize): u32 {
  return (byteAt(at) - 0x30) * 10 + (byteAt(at + 1) - 0x30);
}

function isDate(at: usize): bool {
  if (!areDigits(at, 4) || byteAt(at + 4) !== minus || !areDigits(at + 5, 2)) return false;
  if (byteAt(at + 7) !== minus || !areDigits(at + 8, 2)) return false;
  const year = pair(at) * 100 + pair(at + 2);
  const month = pair(at + 5);
  const day = pair(at + 8);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days: u32 = month === 2 ? (isLeap ? 29 : 28) : 30 + ((month + (month >> 3)) & 1);
  return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

/** Whether a time to the second stands here, behind its `T`. */
function isTime(at: usize): bool {
  if (byteAt(at) !== 0x54 || byteAt(at + 3) !== 0x3a || byteAt(at + 6) !== 0x3a) return false;
  if (!areDigits(at + 1, 2) || !areDigits(at + 4, 2) || !areDigits(at + 7, 2)) return false;
  return pair(at + 1) < 24 && pair(at + 4) < 60 && pair(at + 7) < 60;
}

/** Whether `Z`, `+hh:mm` or `+hhmm` stands here, and nothing behind it. */
function isZone(at: usize, end: usize): bool {
  if (byteAt(at) === 0x5a) return end === at + 1;
  if (byteAt(at) !== minus && byteAt(at) !== 0x2b) return false;
  const minutes = byteAt(at + 3) === 0x3a ? at + 4 : at + 3;
  if (end !== minutes + 2 || !areDigits(at + 1, 2) || !areDigits(minutes, 2)) return false;
  return pair(at + 1) < 24 && pair(minutes) < 60;
}
