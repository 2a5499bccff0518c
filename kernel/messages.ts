/** Messages and choices: whether each is usual, whose turn it is, and how much is said. */

import { roleUnknown, toolCallIdMissing, toolCallsNull } from "../src/check/kernel/layout";
import { byteAt, closeBrace, closeBracket, openBrace, openBracket, quote, same } from "../src/json/kernel/bytes";
import { isWord } from "../src/json/kernel/scalars";
import { characters, endOfPlainString, endOfString } from "../src/json/kernel/strings";
import { isOnlyCounted } from "./counted";
import {
  ASSISTANT,
  CONTENT,
  DEVELOPER,
  FUNCTION,
  LOGPROBS,
  MESSAGE,
  ROLE,
  SYSTEM,
  TEXT,
  TOOL,
  TOOL_CALL_ID,
  TOOL_CALLS,
  USER,
} from "./names";
import { behind, first, key, keyLength, memberAt, next, skip } from "./text";
import { answer, answerOldest, argumentCharacters, beginMessage, readCalls } from "./tools";

/** Messages and choices of the list that was read last, the characters of what they say, and whether the policy speaks. */
export let turns: u32 = 0;
export let said: u32 = 0;
export let hasAssistant: bool = false;
/** Choices of that list, and those that have logprobs. */
export let choices: u32 = 0;
export let scored: u32 = 0;

/** Place behind a list of messages and choices; `counts` says whether they are the trajectory's own. */
export function readMessages(bracket: usize, counts: bool): usize {
  if (byteAt(bracket) !== openBracket) return 0;
  if (counts) {
    turns = 0;
    said = 0;
    hasAssistant = false;
    choices = 0;
    scored = 0;
  }
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    if (counts) {
      turns++;
      beginMessage();
    }
    const message = readMessage(at, counts, false);
    if (message === 0) return 0;
    at = next(message, closeBracket);
  }
  return behind;
}

/** What a message has. */
const withRole: u32 = 1;
const withContent: u32 = 2;
const withCalls: u32 = 4;
const withCallId: u32 = 8;
const withMessage: u32 = 16;
const nullCalls: u32 = 32;
const withLogprobs: u32 = 64;

/** Kinds of roles. */
const otherRole: u32 = 1;
const assistantRole: u32 = 2;
const toolRole: u32 = 3;
const unknownRole: u32 = 4;

function readMessage(bracket: usize, counts: bool, inChoice: bool): usize {
  if (byteAt(bracket) !== openBrace) return 0;
  let seen: u32 = 0;
  let role: u32 = 0;
  let isScored = false;
  let id: usize = 0;
  let idLength: usize = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    let bit: u32 = 0;
    if (keyLength === 4 && same(key, ROLE, 4)) {
      bit = withRole;
      const end = byteAt(value) === quote ? endOfPlainString(value + 1) : 0;
      if (end === 0) return 0;
      role = roleOf(value + 1, end - value - 1);
      if (role === unknownRole && !isOnlyCounted(roleUnknown)) return 0;
      value = end + 1;
    } else if (keyLength === 7 && same(key, CONTENT, 7)) {
      bit = withContent;
      value = readContent(value, counts);
    } else if (keyLength === 7 && !inChoice && same(key, MESSAGE, 7)) {
      bit = withMessage;
      value = readMessage(value, counts, true);
    } else if (keyLength === 8 && same(key, LOGPROBS, 8)) {
      bit = withLogprobs;
      isScored = byteAt(value) === openBrace;
      value = skip(value);
    } else if (keyLength === 10 && same(key, TOOL_CALLS, 10)) {
      bit = withCalls;
      if (byteAt(value) === openBracket) {
        value = readCalls(value, counts);
        if (counts) said += argumentCharacters;
      } else {
        // Only null is left, which is usual in a choice alone.
        if (byteAt(value) !== 0x6e) return 0;
        seen |= nullCalls;
        value = isWord(value);
      }
    } else if (keyLength === 12 && same(key, TOOL_CALL_ID, 12)) {
      bit = withCallId;
      if (byteAt(value) === quote) {
        const end = endOfPlainString(value + 1);
        if (end === 0) return 0;
        id = value + 1;
        idLength = end - id;
        value = end + 1;
      } else {
        value = skip(value);
      }
    } else {
      value = skip(value);
    }
    if (value === 0 || (seen & bit) !== 0) return 0;
    seen |= bit;
    at = next(value, closeBrace);
  }
  if (behind === 0) return 0;
  // A choice has nothing of a message's but the message in it.
  if ((seen & withMessage) !== 0) {
    if (counts) choices++;
    if (counts && isScored) scored++;
    return (seen & ~withLogprobs) === withMessage ? behind : 0;
  }
  if (role === 0 || (!inChoice && (seen & nullCalls) !== 0 && !isOnlyCounted(toolCallsNull))) return 0;
  if (role === toolRole) {
    if (id === 0 && !isOnlyCounted(toolCallIdMissing)) return 0;
    if (counts && id !== 0) answer(id, idLength);
    else if (counts && !answerOldest()) return 0;
  }
  if (counts && (inChoice || role === assistantRole)) hasAssistant = true;
  return behind;
}

/** Which kind of role a word is. */
function roleOf(at: usize, length: usize): u32 {
  if (length === 4) return same(at, USER, 4) ? otherRole : same(at, TOOL, 4) ? toolRole : unknownRole;
  if (length === 9) return same(at, ASSISTANT, 9) ? assistantRole : same(at, DEVELOPER, 9) ? otherRole : unknownRole;
  if (length === 6) return same(at, SYSTEM, 6) ? otherRole : unknownRole;
  return length === 8 && same(at, FUNCTION, 8) ? otherRole : unknownRole;
}

function readContent(at: usize, counts: bool): usize {
  const byte = byteAt(at);
  if (byte === quote) return readSaid(at, counts);
  if (byte === openBracket) return readParts(at, counts);
  return byte === 0x6e ? isWord(at) : 0;
}

function readSaid(at: usize, counts: bool): usize {
  const end = endOfString(at + 1);
  if (end === 0) return 0;
  if (counts) said += characters;
  return end + 1;
}

function readParts(bracket: usize, counts: bool): usize {
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    const part = byteAt(at) === openBrace ? readPart(at, counts) : skip(at);
    if (part === 0) return 0;
    at = next(part, closeBracket);
  }
  return behind;
}

function readPart(bracket: usize, counts: bool): usize {
  let seen = false;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (keyLength === 4 && same(key, TEXT, 4)) {
      if (seen) return 0;
      seen = true;
      value = byteAt(value) === quote ? readSaid(value, counts) : skip(value);
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  return behind;
}
