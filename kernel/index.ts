/** Goes over whole lines of JSON once, and takes those with no findings (docs/decisions/0018); the others it leaves. */

import {
  characterSeries,
  metricSeries,
  mostLines,
  policyMixed,
  rewardSeries,
  turnSeries,
} from "../src/check/kernel/layout";
import { byteAt, closeBrace, closeBracket, newline, openBrace, openBracket, same } from "../src/json/kernel/bytes";
import { beginCounted, clearCounted, isOnlyCounted, takeCounted } from "./counted";
import { areUsual, clearGroups, closeGroup } from "./groups";
import { EXCEPTIONS, TRAJECTORIES, TRAJECTORY_GROUPS } from "./names";
import { mayHoldSecret, prepareSecrets } from "./secrets";
import { addTo, clearSeries } from "./series";
import { behind, behindWhite, countElements, elements, first, key, keyLength, memberAt, next, skip } from "./text";
import { groupKey, groupKeyLength, isGroup, readTrajectory, training, version } from "./trajectory";
import {
  characterCounts,
  choiceCounts,
  clear,
  counts,
  flags,
  full,
  keyLengths,
  keyStarts,
  lengths,
  lineCount,
  lineRewards,
  metricCount,
  metricNames,
  metricValues,
  numbers,
  putLine,
  rewards,
  rewind,
  scoredCounts,
  starts,
  trainings,
  trajectoryCount,
  turnCounts,
  versions,
} from "./written";

export { counted, countOnly } from "./counted";
export { groupSum, trainableSum } from "./groups";
export { nameCount, nameLength, nameStart, reserve } from "./metrics";
export { seriesOf } from "./series";
export { groupName, setGroupName } from "./trajectory";
export {
  counts,
  flags,
  keyLengths,
  keyStarts,
  lengths,
  lineCount,
  lineRewards,
  numbers,
  prints,
  rewards,
  starts,
  trainings,
  trajectoryCount,
  versions,
} from "./written";

/** Lines of the input that were gone over, blank ones and one that was left included. */
export let linesRead: u32 = 0;

/** Where the line stands that `scan` left to others; 0 where it left none. */
export let leftStart: usize = 0;
export let leftEnd: usize = 0;

let groupFlags: f64 = 0;
let equalGroupFlags: f64 = 0;
let trajectoryFlags: f64 = 0;

/** Says what is written down of kinds of lines: groups, those whose rewards are equal, and trajectories. */
export function setFlags(group: f64, equalGroup: f64, trajectory: f64): void {
  groupFlags = group;
  equalGroupFlags = equalGroup;
  trajectoryFlags = trajectory;
}

/** What is added to the places and numbers of lines. */
let placeBefore: f64 = 0;
let linesBefore: f64 = 0;

/** A new input, which stands somewhere in a source, behind so many lines. */
export function begin(place: f64, lines: f64): void {
  linesRead = 0;
  placeBefore = place - f64(input());
  linesBefore = lines;
}

/** Exceptions in the lines taken since `reset`. */
export let exceptionSum: u32 = 0;
/** Choices, those with logprobs, and trajectories that have a choice. */
export let choiceSum: u32 = 0;
export let scoredSum: u32 = 0;
export let sampledSum: u32 = 0;

/** Forgets what was summed up. */
export function reset(): void {
  clearSeries();
  clearGroups();
  exceptionSum = 0;
  choiceSum = 0;
  scoredSum = 0;
  sampledSum = 0;
}

/** Whether lines were groups so far: it is tried first. */
let areGroups: bool = true;

prepareSecrets();

/** Where the input may be written to. */
export function input(): usize {
  return (__heap_base + 63) & ~usize(63);
}

/**
 * Takes lines, the last of which has its end, as long as there is room and none is left to others; gives the place to go
 * on from.
 */
export function scan(from: usize, to: usize): usize {
  clear();
  clearCounted();
  leastReward = Infinity;
  mostReward = -Infinity;
  leftStart = 0;
  let at = from;
  while (at < to && lineCount < u32(mostLines)) {
    const start = behindWhite(at);
    if (byteAt(start) === newline) {
      at = start + 1;
      linesRead++;
      continue;
    }
    const trajectories = trajectoryCount;
    const metrics = metricCount;
    if (!takes(start)) {
      // There will be room for it once all others were read.
      const waits = full && lineCount > 0;
      rewind(trajectories, metrics);
      if (waits) return at;
      leftStart = at;
      leftEnd = endOfLine(start);
      linesRead++;
      return leftEnd + 1;
    }
    linesRead++;
    at = lineEnd + 1;
  }
  return at;
}

/** End of the line that was taken. */
let lineEnd: usize = 0;

/** Whether a line is taken. */
function takes(start: usize): bool {
  if (byteAt(start) !== openBrace) return false;
  const trajectories = trajectoryCount;
  const metrics = metricCount;
  beginCounted();
  let end = areGroups ? readGroup(start) : readTrajectory(start, true);
  if (end === 0 && (areGroups ? isAlone : isGroup)) {
    rewind(trajectories, metrics);
    beginCounted();
    areGroups = !areGroups;
    end = areGroups ? readGroup(start) : readTrajectory(start, true);
  }
  if (end === 0) return false;
  lineEnd = behindWhite(end);
  if (byteAt(lineEnd) !== newline || mayHoldSecret(start, end)) return false;
  const count = trajectoryCount - trajectories;
  const ownRewards = rewards + (usize(trajectories) << 3);
  if (areGroups && !areUsual(ownRewards, count)) return false;
  takeCounted();
  const number = putLine();
  const line = usize(number);
  store<f64>(starts + (line << 3), f64(start) + placeBefore);
  store<f64>(lengths + (line << 3), f64(end - start));
  store<f64>(numbers + (line << 3), f64(linesRead) + linesBefore);
  store<f64>(counts + (line << 3), f64(count));
  if (areGroups) {
    store<f64>(flags + (line << 3), closeGroup(ownRewards, count) ? equalGroupFlags : groupFlags);
    store<f64>(lineRewards + (line << 3), 0);
    store<f64>(versions + (line << 3), newestVersion);
    store<u8>(trainings + line, u8(groupTraining));
    exceptionSum += exceptionCount;
  } else {
    store<f64>(flags + (line << 3), trajectoryFlags);
    store<f64>(lineRewards + (line << 3), load<f64>(ownRewards));
    store<f64>(versions + (line << 3), version);
    store<u8>(trainings + line, u8(training));
    store<u32>(keyStarts + (line << 2), u32(groupKey));
    store<u32>(keyLengths + (line << 2), u32(groupKeyLength));
  }
  for (let index: u32 = 0; index < count; index++) addTrajectory(trajectories + index);
  for (let index = metrics; index < metricCount; index++) {
    addTo(metricSeries + load<u32>(metricNames + (usize(index) << 2)), load<f64>(metricValues + (usize(index) << 3)));
  }
  return true;
}

/** The smallest and the largest reward of the batch. */
export let leastReward: f64 = Infinity;
export let mostReward: f64 = -Infinity;

function addTrajectory(index: u32): void {
  const place = usize(index) << 3;
  const reward = load<f64>(rewards + place);
  if (reward < leastReward) leastReward = reward;
  if (reward > mostReward) mostReward = reward;
  addTo(rewardSeries, reward);
  addTo(turnSeries, load<f64>(turnCounts + place));
  addTo(characterSeries, load<f64>(characterCounts + place));
  const choices = load<u32>(choiceCounts + (usize(index) << 2));
  choiceSum += choices;
  scoredSum += load<u32>(scoredCounts + (usize(index) << 2));
  if (choices !== 0) sampledSum++;
}

/** Whether the line has no trajectories, and is one. */
let isAlone: bool = false;

/** Of the group that was read last: its exceptions, what its trajectories have to train on, and its newest policy version. */
let exceptionCount: u32 = 0;
let groupTraining: u32 = 0;
let newestVersion: f64 = NaN;
/** Whether its trajectories are of several policies. */
let isMixed: bool = false;

/** Place behind a group. */
function readGroup(bracket: usize): usize {
  isAlone = false;
  newestVersion = NaN;
  isMixed = false;
  exceptionCount = 0;
  groupTraining = 0;
  let seen: u32 = 0;
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    let value = memberAt(at);
    if (value === 0) return 0;
    let bit: u32 = 0;
    if (keyLength === 12 && same(key, TRAJECTORIES, 12)) {
      bit = 1;
      value = readTrajectories(value);
    } else if (keyLength === 10 && same(key, EXCEPTIONS, 10)) {
      bit = 2;
      value = countElements(value);
      exceptionCount = elements;
    } else if (keyLength === 17 && same(key, TRAJECTORY_GROUPS, 17)) {
      return 0;
    } else {
      value = skip(value);
    }
    if (value === 0 || (seen & bit) !== 0) return 0;
    seen |= bit;
    at = next(value, closeBrace);
  }
  isAlone = (seen & 1) === 0;
  return isAlone || (isMixed && !isOnlyCounted(policyMixed)) ? 0 : behind;
}

/** Place behind a list of trajectories, which has at least one. */
function readTrajectories(bracket: usize): usize {
  if (byteAt(bracket) !== openBracket) return 0;
  let at = first(bracket, closeBracket);
  if (at === 0) return 0;
  while (at !== 0) {
    const trajectory = readTrajectory(at, false);
    if (trajectory === 0) return 0;
    groupTraining |= training;
    if (!Number.isNaN(version)) {
      if (!Number.isNaN(newestVersion) && version !== newestVersion) isMixed = true;
      if (!(version <= newestVersion)) newestVersion = version;
    }
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
