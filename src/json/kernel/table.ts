/** Writes the table of JSON values in one pass. */
import {
  backslash,
  byteAt,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isInlineWhite,
  newline,
  openBrace,
  openBracket,
  quote,
  setNewlineEnd,
  skipWhite,
} from "./bytes";
import { colonNext, commaNext, endNext, fault, faultAt, findFault, keyNext, valueNext } from "./faults";
import { idOf, leafUse, learnedIdOf, lengthOf, maxRegistered, shapeTextUse, usesOf } from "./keys";
import * as leaves from "./leaves";
import { encodedKey, input, keyIdOf, nodeBytes, putNode } from "./nodes";
import { characterCount, endOfString, numberCount, skipNumber, skipNumbers, skipWord } from "./scalars";
import * as shapes from "./shapes";

/** Wide loads can read this many bytes after a text. */
const readAheadBytes: usize = 64;

export let table: usize = 0;
export let tableEnd: usize = 0;

let isOutOfMemory: bool = false;

/** A pass that can pause writes this many bytes of nodes at once. */
const bytesPerPass: usize = 1 << 22;
/** The end of the nodes of this pass. */
let passEnd: usize = usize.MAX_VALUE;
let canPause: bool = false;
/** The variables of `readValue` at a pause, or 0. */
let pausedAt: usize = 0;
let pausedLeaf: usize = 0;
let pausedOpen: usize = 0;
let pausedOpening: u32 = 0;
let pausedShape: u32 = 0;

let skipsLeaves: bool = false;
let stop: usize = 0;
let expectedNext: u32 = valueNext;

/** `readElements` sets this address to the closing bracket or, like `readLines`, to the start of the next piece. */
export let rest: usize = 0;

function begin(end: usize, terminator: u32, isSkipping: bool): void {
  // The terminator is 0 or a newline, and stops the pass in any value.
  store<u8>(end, u8(terminator));
  table = (end + readAheadBytes + 15) & ~usize(15);
  tableEnd = table;
  // The first node asks for memory, because the limit is relative to the table.
  memoryEnd = 0;
  passEnd = usize.MAX_VALUE;
  pausedLeaf = pausedOpen = 0;
  pausedOpening = pausedShape = 0;
  isOutOfMemory = false;
  skipsLeaves = isSkipping;
  shapes.forgetShapes();
  setNewlineEnd(terminator === newline);
}

const faultyResult: u32 = 0;
const jsonResult: u32 = 1;
const outOfMemoryResult: u32 = 2;
const incompleteResult: u32 = 3;
const pausedResult: u32 = 4;

/** If `isSkipping` is true, skips the content of values whose key has `leafUse`. */
export function readText(length: usize, isSkipping: bool, isPausing: bool): u32 {
  begin(input() + length, 0, isSkipping);
  canPause = isPausing;
  pausedAt = input();
  return continueText(length);
}

/** Continues after `pausedResult`. */
export function continueText(length: usize): u32 {
  const end = input() + length;
  const from = pausedAt;
  pausedAt = 0;
  if (canPause) {
    passEnd = tableEnd + bytesPerPass;
    memoryEnd = 0;
  }
  const after = readValue(from);
  if (pausedAt !== 0) return pausedResult;
  return after === end ? jsonResult : findStop(after, end);
}

/** A caller that may take 50 µs for each line hears signals after this many lines. */
const maxLines: u32 = 2048;

/**
 * Writes a root for each of `maxLines` lines that is not blank, and sets `rest` to their end. A line that is not JSON
 * has two nodes. The words of the first node are the start of the line, 0, the next root and the fault. The second node
 * begins at the fault and ends at the line end.
 */
export function readLines(length: usize): u32 {
  const start = input();
  const end = start + length;
  begin(end, newline, true);
  let at = start;
  let lines: u32 = 0;
  while (true) {
    rest = min(at, end);
    if (lines++ === maxLines) return jsonResult;
    at = skipWhite(at);
    if (at >= end) {
      rest = end;
      return jsonResult;
    }
    if (byteAt(at) === newline) {
      at++;
      continue;
    }
    const root = tableEnd;
    const after = readValue(at);
    if (after !== 0 && byteAt(after) === newline) {
      at = after + 1;
      continue;
    }
    let lineEnd = at;
    while (byteAt(lineEnd) !== newline) lineEnd++;
    let textEnd = lineEnd;
    while (isInlineWhite(byteAt(textEnd - 1))) textEnd--;
    if (findStop(after, textEnd) === outOfMemoryResult || !putFault(root, at, lineEnd)) return outOfMemoryResult;
    at = lineEnd + 1;
  }
}

function putFault(root: usize, start: usize, end: usize): bool {
  const second = root + nodeBytes;
  tableEnd = second + nodeBytes;
  if (!ensureMemory(tableEnd)) return false;
  store<u32>(root, u32(start - input()));
  putNode(root, 0, u32((tableEnd - table) >> 2), fault);
  store<u32>(second, u32(faultAt - input()));
  putNode(second, u32(end - input()), 0, 0);
  return true;
}

let isFirstElement: bool = false;

export function beginElements(): void {
  isFirstElement = true;
}

/** Writes a root for each element that ends in this piece of a list. */
export function readElements(length: usize, isLast: bool, isTolerant: bool): u32 {
  const end = input() + length;
  begin(end, 0, true);
  rest = input();
  while (true) {
    rest = skipWhite(rest);
    if (isFirstElement && byteAt(rest) === closeBracket) return jsonResult;
    const root = tableEnd;
    let after = readValue(rest);
    if (isOutOfMemory) return outOfMemoryResult;
    if (after === 0 || (byteAt(after) !== comma && byteAt(after) !== closeBracket)) {
      if (after === 0) findStop(0, end);
      else findFault(after, end, commaNext);
      tableEnd = root;
      // If the element may be cut off, the next piece repeats the element.
      if (!isLast && faultAt + readAheadBytes >= end) return incompleteResult;
      if (!isTolerant) return faultyResult;
      after = endOfElement(rest, end);
      if (after === 0) return isLast ? faultyResult : incompleteResult;
      // No element is before the comma or bracket.
      if (after === rest) return faultyResult;
      if (!putFault(root, rest, after)) return outOfMemoryResult;
    }
    isFirstElement = false;
    rest = after;
    if (byteAt(after) === closeBracket) return jsonResult;
    rest++;
  }
}

/** Returns 0 if the element may be cut off. */
function endOfElement(from: usize, end: usize): usize {
  let depth = 0;
  for (let at = from; at < end; at++) {
    const byte = byteAt(at);
    if (depth === 0 && (byte === comma || byte === closeBracket)) return at;
    if (byte === quote) {
      for (at++; at < end && byteAt(at) !== quote; at++) if (byteAt(at) === backslash) at++;
    } else if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && depth > 0) depth--;
  }
  return 0;
}

function findStop(after: usize, end: usize): u32 {
  if (isOutOfMemory) return outOfMemoryResult;
  findFault(min(end, after === 0 ? stop : after), end, after === 0 ? expectedNext : endNext);
  return faultyResult;
}

function stopAt(at: usize, expected: u32): usize {
  stop = at;
  expectedNext = expected;
  return 0;
}

/** The distance in ASCII from `[` to `]` and from `{` to `}`. */
const closingDistance: u32 = 2;

/** Returns the end of the white space after the value, or 0. One function keeps its variables in registers. */
function readValue(from: usize): usize {
  let at = skipWhite(from);
  /** The node of the outermost open value whose key has `leafUse`, or 0. */
  let leaf: usize = pausedLeaf;
  /**
   * The node of the innermost open array or object, or 0. The words of an open node are the start, the first byte, the
   * enclosing node, and the `shape` before the last inner array or object.
   */
  let open: usize = pausedOpen;
  let opening: u32 = pausedOpening;
  /** In an object, the shape of the earlier members. In an array, the array's key, then the last element's shape. */
  let shape: u32 = pausedShape;
  let end = tableEnd;
  while (true) {
    if (end + 2 * nodeBytes > memoryEnd) {
      if (end >= passEnd) return pause(at, leaf, open, opening, shape, end);
      if (!ensureMemory(end + 2 * nodeBytes)) return 0;
    }
    let key: u32 = 0;
    if (opening === openBrace) {
      at = readKey(at, shape, end);
      if (at === 0) return 0;
      key = keyIdOf(end);
      if (leaf !== 0 && open === leaf) leaves.beginMember(end);
      end += nodeBytes;
    }
    const node = end;
    end += nodeBytes;
    store<u32>(node, u32(at - input()));
    const byte = byteAt(at);
    // Not 0 for a string, number, word or array of numbers, which need no open node.
    let flatEnd: usize = 0;
    if (byte === quote) flatEnd = skipString(at);
    else if (byte === openBracket) flatEnd = skipNumbers(at + 1);
    else if (byte !== openBrace) flatEnd = skipAtom(at);
    if (flatEnd !== 0) {
      at = flatEnd;
      const detail = byte === quote ? characterCount : byte === openBracket ? numberCount : 0;
      putNode(node, u32(at - input()), u32((end - table) >> 2), detail);
      const value = flatShapeOf(byte);
      shape = opening === openBrace ? withMember(shape, key, value, node) : value;
    } else {
      if (byte !== openBrace && byte !== openBracket) return stopAt(at, valueNext);
      if (skipsLeaves && leaf === 0 && key !== 0 && (usesOf(key) & leafUse) !== 0) {
        leaf = node;
        leaves.beginLeaf();
      }
      if (open !== 0) store<u32>(open, shape, 12);
      putNode(node, byte, u32(open), 0);
      if (byte === openBracket) shape = key;
      else shape = skipsLeaves && leaf === 0 ? shapes.beginShape(shape) : shapes.noShape;
      open = node;
      opening = byte;
      at = skipWhite(at + 1);
      if (byteAt(at) !== byte + closingDistance) {
        if (byte === openBracket && node === leaves.countedValue) leaves.countElement();
        continue;
      }
    }
    while (true) {
      if (leaf !== 0) end = open + nodeBytes;
      at = skipWhite(at);
      if (open === 0) {
        tableEnd = end;
        return at;
      }
      const byte = byteAt(at);
      if (byte === comma) {
        if (leaf !== 0 && open === leaves.countedValue && opening === openBracket) leaves.countElement();
        at = skipWhite(at + 1);
        break;
      }
      if (byte !== opening + closingDistance) return stopAt(at, commaNext);
      at++;
      const closed = open;
      open = usize(load<u32>(closed, 8));
      let detail = byte === closeBracket ? 0 : shape;
      if (closed === leaf) {
        leaf = 0;
        detail = leaves.detailOfLeaf();
      }
      putNode(closed, u32(at - input()), u32((end - table) >> 2), detail);
      if (open === 0) continue;
      opening = load<u32>(open, 4);
      const value = byte === closeBrace ? shapes.objectShape : shapes.arrayShape;
      if (opening === openBrace) shape = withMember(load<u32>(open, 12), keyIdOf(closed - nodeBytes), value, closed);
      else if (byte === closeBracket) shape = value;
    }
  }
}

/** Returns 0. */
function pause(at: usize, leaf: usize, open: usize, opening: u32, shape: u32, end: usize): usize {
  pausedAt = at;
  pausedLeaf = leaf;
  pausedOpen = open;
  pausedOpening = opening;
  pausedShape = shape;
  tableEnd = end;
  return 0;
}

/** Writes the node of a key. Returns the start of its value, or 0. */
function readKey(at: usize, shape: u32, node: usize): usize {
  if (byteAt(at) !== quote) return stopAt(at, keyNext);
  store<u32>(node, u32(at - input()));
  const start = at + 1;
  const expected = shapes.expectedKey(shape, start);
  const end = expected === 0 ? endOfString(start) : start + lengthOf(expected);
  if (end === 0) return stopAt(at, keyNext);
  putNode(node, u32(end + 1 - input()), 0, expected === 0 ? findKey(start, end, shape) : expected);
  const next = skipWhite(end + 1);
  return byteAt(next) === colon ? skipWhite(next + 1) : stopAt(next, colonNext);
}

/** Returns the last word of the node of a key that was not expected. */
function findKey(start: usize, end: usize, shape: u32): u32 {
  // A key in ASCII without escapes has as many code points as bytes.
  const isEncoded = usize(characterCount) !== end - start;
  let key: u32 = 0;
  if (!isEncoded) key = shape === shapes.noShape ? idOf(start, end - start) : learnedIdOf(start, end - start);
  if (shape === shapes.emptyShape) shapes.setFirstKey(key);
  return isEncoded ? encodedKey : key;
}

/** Returns 0 if the string is invalid. */
function skipString(at: usize): usize {
  const closing = endOfString(at + 1);
  return closing === 0 ? 0 : closing + 1;
}

/** Returns the end of a number or word, or 0. */
function skipAtom(at: usize): usize {
  const end = skipWord(at);
  return end === 0 ? skipNumber(at) : end;
}

/** Returns the shape of a string, number, word or array of numbers with the first byte `byte`. */
function flatShapeOf(byte: u32): u32 {
  if (byte === quote) return shapes.stringShape;
  if (byte === openBracket) return shapes.arrayShape;
  if (byte === 0x6e) return shapes.nullShape;
  return byte === 0x74 || byte === 0x66 ? shapes.booleanShape : shapes.numberShape;
}

function withMember(shape: u32, key: u32, value: u32, node: usize): u32 {
  if (shape === shapes.noShape || key === 0) return shapes.noShape;
  if (value === shapes.stringShape && (usesOf(key) & shapeTextUse) !== 0) value = textShapeOf(node);
  return shapes.nextShape(shape, key, value);
}

function textShapeOf(node: usize): u32 {
  const text = input() + load<u32>(node) + 1;
  const id = idOf(text, input() + load<u32>(node, 4) - 1 - text);
  return id !== 0 && id <= maxRegistered ? shapes.textShape + id : shapes.noShape;
}

let memoryEnd: usize = 0;
let maxTableBytes: usize = usize.MAX_VALUE;

export function limitTable(bytes: usize): void {
  maxTableBytes = bytes;
}

function ensureMemory(end: usize): bool {
  isOutOfMemory = end - table > maxTableBytes;
  if (isOutOfMemory) return false;
  const pages = usize(memory.size());
  const wanted = ((end + 0xffff) >> 16) - pages;
  const hasMemory = end <= pages << 16 || memory.grow(i32(max(wanted, pages >> 2))) >= 0;
  isOutOfMemory = !hasMemory && memory.grow(i32(wanted)) < 0;
  memoryEnd = min(min(usize(memory.size()) << 16, passEnd), table + min(maxTableBytes, ~table));
  return !isOutOfMemory;
}
