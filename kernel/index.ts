/** Goes over whole lines of JSON once, and takes those that there is nothing to say about (docs/decisions/0018). */
import { byteAt, closeBrace, closeBracket, newline, openBrace, openBracket, same } from "./bytes";
import { EXCEPTIONS, TRAJECTORIES, TRAJECTORY_GROUPS } from "./names";
import { mayHoldSecret, prepareSecrets } from "./secrets";
import { behind, behindWhite, countElements, elements, first, key, keyLength, memberAt, next, skip } from "./text";
import { groupKey, groupKeyLength, isGroup, readTrajectory } from "./trajectory";
import { cursor, empty, enough, full, isRoom, lineBytes, reserveBytes, rewind } from "./written";

export { nameLength, nameStart, names, reserve } from "./metrics";
export { groupName, longestGroupKey, setGroupName } from "./trajectory";
export { written } from "./written";

/** Kinds of lines. */
const leftLine: u32 = 0;
const groupLine: u32 = 1;
const trajectoryLine: u32 = 2;

/** Lines that were gone over since `begin`, and those of them that were written down: all that are not blank. */
let lineNumber: u32 = 0;
let lineCount: u32 = 0;

export function begin(): void {
  lineNumber = 0;
}

export function lines(): u32 {
  return lineNumber;
}

export function linesWritten(): u32 {
  return lineCount;
}

/** Whether lines were groups so far: it is tried first. */
let areGroups: bool = true;

prepareSecrets();

/** Where the input may be written to, behind a byte that is nothing. */
export function input(): usize {
  return (__heap_base + 63) & ~usize(63);
}

/** Goes over lines, the last of which has its end, as far as there is room to write; gives the place to go on from. */
export function scan(from: usize, to: usize): usize {
  empty();
  lineCount = 0;
  let at = from;
  while (at < to && isRoom()) {
    const start = behindWhite(at);
    if (byteAt(start) === newline) {
      at = start + 1;
      lineNumber++;
      continue;
    }
    const line = reserveBytes(lineBytes);
    const kind = kindOf(start, line);
    if (kind === leftLine && full && lineCount > 0) {
      // There will be room for it once all others were read.
      rewind(line);
      break;
    }
    enough();
    const end = kind === leftLine ? endOfLine(start) : lineEnd;
    store<u32>(line, kind);
    store<u32>(line, lineNumber++, 4);
    store<u32>(line, u32(at), 8);
    store<u32>(line, u32(end), 12);
    store<u32>(line, u32(start), 16);
    store<u32>(line, u32(cursor), 32);
    lineCount++;
    at = end + 1;
  }
  return at;
}

/** End of the line whose value was read. */
let lineEnd: usize = 0;

/** What a line is; all of it is written down, but for a line that is left to others. */
function kindOf(start: usize, line: usize): u32 {
  if (byteAt(start) !== openBrace) return leftLine;
  let kind = areGroups ? groupLine : trajectoryLine;
  let end = areGroups ? readGroup(start, line) : readAlone(start, line);
  if (end === 0 && (areGroups ? isAlone : isGroup)) {
    rewind(line + lineBytes);
    areGroups = !areGroups;
    kind = areGroups ? groupLine : trajectoryLine;
    end = areGroups ? readGroup(start, line) : readAlone(start, line);
  }
  if (end !== 0) {
    lineEnd = behindWhite(end);
    if (byteAt(lineEnd) === newline && !mayHoldSecret(start, end)) {
      store<u32>(line, u32(end), 20);
      return kind;
    }
  }
  rewind(line + lineBytes);
  return leftLine;
}

function readAlone(start: usize, line: usize): usize {
  const end = readTrajectory(start, true);
  store<u32>(line, u32(groupKey), 24);
  store<u32>(line, u32(groupKeyLength), 28);
  return end;
}

/** Whether the line has no trajectories, and is one. */
let isAlone: bool = false;

/** Place behind a group. */
function readGroup(bracket: usize, line: usize): usize {
  isAlone = false;
  let trajectories: i32 = -1;
  let exceptions: i32 = -1;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    if (keyLength === 12 && same(key, TRAJECTORIES, 12)) {
      if (trajectories >= 0) return 0;
      value = readTrajectories(value);
      trajectories = i32(count);
    } else if (keyLength === 10 && same(key, EXCEPTIONS, 10)) {
      if (exceptions >= 0) return 0;
      value = countElements(value);
      exceptions = i32(elements);
    } else if (keyLength === 17 && same(key, TRAJECTORY_GROUPS, 17)) {
      return 0;
    } else {
      value = skip(value);
    }
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  isAlone = trajectories < 0;
  if (trajectories <= 0) return 0;
  store<u32>(line, u32(trajectories), 24);
  store<u32>(line, exceptions < 0 ? 0 : u32(exceptions), 28);
  return behind;
}

let count: u32 = 0;

function readTrajectories(bracket: usize): usize {
  if (byteAt(bracket) !== openBracket) return 0;
  count = 0;
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    const trajectory = readTrajectory(at, false);
    if (trajectory === 0) return 0;
    count++;
    at = next(trajectory, closeBracket);
  }
  return behind;
}

/** Place of the newline that ends the line here. */
function endOfLine(at: usize): usize {
  while (true) {
    const ends = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(0x0a)));
    if (ends !== 0) return at + ctz(ends);
    at += 16;
  }
}
