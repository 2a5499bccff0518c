/** The tools of a trajectory, their calls, and which of these wait for a result. */

import { lastCallUnanswered, toolCallUnanswered, toolIncomplete, toolUnlisted } from "../src/check/kernel/layout";
import { withoutTools, withTools } from "../src/groups/metrics/constants";
import { byteAt, closeBrace, closeBracket, openBrace, openBracket, quote, same } from "../src/json/kernel/bytes";
import { isWord } from "../src/json/kernel/scalars";
import { characters, endOfPlainString, endOfString } from "../src/json/kernel/strings";
import { isOnlyCounted } from "./counted";
import { ARGUMENTS, DESCRIPTION, FUNCTION, ID, NAME, PARAMETERS, STRICT, TYPE } from "./names";
import { behind, first, key, keyLength, memberAt, next, skip } from "./text";

/** Tools, and calls, of a trajectory that are remembered; one with more is left to others. */
const mostTools = 1024;
const mostCalls = 4096;

/** Places and lengths of the names of tools, of the names in calls, and of the ids of calls. */
const tools: usize = memory.data(8 * mostTools);
const called: usize = memory.data(8 * mostCalls);
const waiting: usize = memory.data(8 * mostCalls);

/** Of each id that waits, the position of its call's name, from 1; of each name, whether a call of it was answered. */
const waitingNames: usize = memory.data(4 * mostCalls, 4);
const answered: usize = memory.data(mostCalls);

let toolCount: u32 = 0;
let calledCount: u32 = 0;
/** The names called before the last message. */
let calledBefore: u32 = 0;
/** Whether there is a list of tools, however short. */
let hasTools: bool = false;
/** Calls that wait for a result, and behind them those of the last message, which may end the trajectory. */
let waitingCount: u32 = 0;
let lastCount: u32 = 0;

/** Whether there are tools, or calls without any, in bits. */
export function toolBits(): u32 {
  return hasTools ? withTools : calledCount !== 0 ? withoutTools : 0;
}

/** Forgets the tools and calls of the trajectory before. */
export function newTools(): void {
  toolCount = 0;
  calledCount = 0;
  calledBefore = 0;
  hasTools = false;
  waitingCount = 0;
  lastCount = 0;
}

/** Writes the place and length of a name into a list of such. */
export function putName(list: usize, index: u32, start: usize, length: usize): void {
  store<u32>(list + (usize(index) << 3), u32(start));
  store<u32>(list + (usize(index) << 3), u32(length), 4);
}

function isKept(list: usize, index: u32, start: usize, length: usize): bool {
  const at = list + (usize(index) << 3);
  return usize(load<u32>(at, 4)) === length && same(usize(load<u32>(at)), start, length);
}

/** Whether no name of a list stands in it twice. */
export function areDifferent(list: usize, count: u32): bool {
  for (let index: u32 = 1; index < count; index++) {
    const at = list + (usize(index) << 3);
    for (let before: u32 = 0; before < index; before++) {
      if (isKept(list, before, usize(load<u32>(at)), usize(load<u32>(at, 4)))) return false;
    }
  }
  return true;
}

/** A message that follows: the calls of the one before wait for their results. */
export function beginMessage(): void {
  waitingCount += lastCount;
  lastCount = 0;
  calledBefore = calledCount;
}

/** A message of the role `tool`, with the result of a call: those of the same message are not waiting yet. */
export function answer(id: usize, length: usize): void {
  let left: u32 = 0;
  const count = waitingCount + lastCount;
  for (let index: u32 = 0; index < count; index++) {
    if (index < waitingCount && isKept(waiting, index, id, length)) markAnswered(index);
    else keepWaiting(left++, index);
  }
  waitingCount = left - lastCount;
}

/** A message with a result that names no call is taken for that of the oldest one; false where several have its id. */
export function answerOldest(): bool {
  if (waitingCount === 0) return true;
  const count = waitingCount + lastCount;
  const id = usize(load<u32>(waiting));
  const length = usize(load<u32>(waiting, 4));
  for (let index: u32 = 1; index < count; index++) if (isKept(waiting, index, id, length)) return false;
  markAnswered(0);
  for (let index: u32 = 1; index < count; index++) keepWaiting(index - 1, index);
  waitingCount--;
  return true;
}

function markAnswered(index: u32): void {
  const name = load<u32>(waitingNames + (usize(index) << 2));
  if (name !== 0) store<u8>(answered + usize(name - 1), 1);
}

function keepWaiting(place: u32, index: u32): void {
  store<u64>(waiting + (usize(place) << 3), load<u64>(waiting + (usize(index) << 3)));
  store<u32>(waitingNames + (usize(place) << 2), load<u32>(waitingNames + (usize(index) << 2)));
}

/**
 * Whether all calls were answered, the last ones are of other tools than those that were, and all are of tools that are
 * listed; or what is not so is only counted.
 */
export function isSettled(): bool {
  if (waitingCount !== 0 && !isOnlyCounted(toolCallUnanswered, waitingCount)) return false;
  const cut = calledCount > calledBefore ? lastOfAnswered() : 0;
  if (cut !== 0 && !isOnlyCounted(lastCallUnanswered, cut)) return false;
  const unlisted = hasTools ? countUnlisted() : 0;
  return unlisted === 0 || isOnlyCounted(toolUnlisted, unlisted);
}

/** Calls of the last message whose tool was called, and answered, before. */
function lastOfAnswered(): u32 {
  let count: u32 = 0;
  for (let index = calledBefore; index < calledCount; index++) if (wasAnswered(index)) count++;
  return count;
}

function wasAnswered(index: u32): bool {
  const at = called + (usize(index) << 3);
  const name = usize(load<u32>(at));
  const length = usize(load<u32>(at, 4));
  for (let before: u32 = 0; before < calledBefore; before++) {
    if (load<u8>(answered + usize(before)) !== 0 && isKept(called, before, name, length)) return true;
  }
  return false;
}

function countUnlisted(): u32 {
  let count: u32 = 0;
  for (let index: u32 = 0; index < calledCount; index++) {
    const at = called + (usize(index) << 3);
    if (!isListed(usize(load<u32>(at)), usize(load<u32>(at, 4)))) count++;
  }
  return count;
}

function isListed(name: usize, length: usize): bool {
  for (let index: u32 = 0; index < toolCount; index++) if (isKept(tools, index, name, length)) return true;
  return false;
}

/** Place behind a list of tools. */
export function readTools(bracket: usize): usize {
  if (byteAt(bracket) !== openBracket) return 0;
  hasTools = true;
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    const tool = readTool(at);
    if (tool === 0) return 0;
    at = next(tool, closeBracket);
  }
  return behind;
}

function readTool(bracket: usize): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  let seen: u32 = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (keyLength === 4 && same(key, TYPE, 4)) {
      if ((seen & 1) !== 0 || byteAt(value) !== quote) return 0;
      seen |= 1;
      value = skip(value);
    } else if (keyLength === 8 && same(key, FUNCTION, 8)) {
      if ((seen & 2) !== 0) return 0;
      seen |= 2;
      value = readToolFunction(value);
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  if ((seen & 2) === 0 || (seen === 2 && !isOnlyCounted(toolIncomplete))) return 0;
  return behind;
}

function readToolFunction(bracket: usize): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  let seen: u32 = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    const byte = byteAt(value);
    const isNull = byte === 0x6e;
    let bit: u32 = 0;
    if (keyLength === 4 && same(key, NAME, 4)) {
      bit = 1;
      value = readToolName(value);
    } else {
      if (keyLength === 11 && same(key, DESCRIPTION, 11)) {
        bit = 2;
        if (byte !== quote && !isNull) return 0;
      } else if (keyLength === 10 && same(key, PARAMETERS, 10)) {
        bit = 4;
        if (byte !== openBrace && !isNull) return 0;
      } else if (keyLength === 6 && same(key, STRICT, 6)) {
        bit = 8;
        if (isWord(value) === 0) return 0;
      }
      value = skip(value);
    }
    if (value === 0 || (seen & bit) !== 0) return 0;
    seen |= bit;
    at = next(value, closeBrace);
  }
  return (seen & 1) !== 0 ? behind : 0;
}

function readToolName(at: usize): usize {
  if (byteAt(at) !== quote || toolCount === u32(mostTools)) return 0;
  const end = endOfPlainString(at + 1);
  if (end === 0) return 0;
  putName(tools, toolCount++, at + 1, end - at - 1);
  return end + 1;
}

/** Characters of the arguments of the calls that `readCalls` went over. */
export let argumentCharacters: u32 = 0;

/** Place behind a list of calls; `counts` says whether they are of the trajectory's own messages. */
export function readCalls(bracket: usize, counts: bool): usize {
  argumentCharacters = 0;
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    const call = readCall(at, counts);
    if (call === 0) return 0;
    at = next(call, closeBracket);
  }
  return behind;
}

/** Id and name of the call that is read; 0 where it has none. */
let id: usize = 0;
let idLength: usize = 0;
let name: usize = 0;
let nameLength: usize = 0;

function readCall(bracket: usize, counts: bool): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  id = 0;
  name = 0;
  let seen: u32 = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (keyLength === 2 && same(key, ID, 2)) {
      if ((seen & 1) !== 0) return 0;
      seen |= 1;
      value = byteAt(value) === quote ? readId(value) : skip(value);
    } else if (keyLength === 8 && same(key, FUNCTION, 8)) {
      if ((seen & 2) !== 0) return 0;
      seen |= 2;
      value = readCalledFunction(value);
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  return counts && !putCall() ? 0 : behind;
}

/** Whether there was room for the call that was read. */
function putCall(): bool {
  if (name !== 0) {
    if (calledCount === u32(mostCalls)) return false;
    store<u8>(answered + usize(calledCount), 0);
    putName(called, calledCount++, name, nameLength);
  }
  if (id === 0) return true;
  const index = waitingCount + lastCount;
  if (index === u32(mostCalls)) return false;
  putName(waiting, index, id, idLength);
  store<u32>(waitingNames + (usize(index) << 2), name === 0 ? 0 : calledCount);
  lastCount++;
  return true;
}

function readId(at: usize): usize {
  const end = endOfPlainString(at + 1);
  if (end === 0) return 0;
  idLength = end - at - 1;
  if (idLength > 0) id = at + 1;
  return end + 1;
}

function readCalledFunction(bracket: usize): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  let seen: u32 = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (keyLength === 4 && same(key, NAME, 4)) {
      if ((seen & 1) !== 0) return 0;
      seen |= 1;
      value = byteAt(value) === quote ? readCalledName(value) : skip(value);
    } else if (keyLength === 9 && same(key, ARGUMENTS, 9)) {
      if ((seen & 2) !== 0) return 0;
      seen |= 2;
      value = byteAt(value) === quote ? readArguments(value) : skip(value);
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  return behind;
}

function readCalledName(at: usize): usize {
  const end = endOfPlainString(at + 1);
  if (end === 0) return 0;
  nameLength = end - at - 1;
  if (nameLength > 0) name = at + 1;
  return end + 1;
}

function readArguments(at: usize): usize {
  const end = endOfString(at + 1);
  if (end === 0) return 0;
  argumentCharacters += characters;
  return end + 1;
}
