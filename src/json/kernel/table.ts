/** Writes the table of JSON values in one pass over the bytes, without knowledge of fields or rules. */
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
import { endOfString, numberCount, skipNumber, skipNumbers, skipWord, unitCount } from "./scalars";
import * as shapes from "./shapes";

/** Bytes of a node, whose four words `JsonTable` in src/json/table.ts describes. */
const nodeBytes: usize = 16;

/** The id of a key with escapes or non-ASCII characters, which must be decoded before it is compared. */
const encodedKey: u32 = 0xffffffff;

/** The number of bytes after a text that wide loads, such as in `findRun`, may read without effect. */
const readAheadBytes: usize = 64;

export function input(): usize {
  return (__heap_base + 63) & ~usize(63);
}

export let table: usize = 0;
/** The address after the last node. */
export let tableEnd: usize = 0;

let isOutOfMemory: bool = false;
let skipsLeaves: bool = false;
/** The node of the outermost open value of a leaf key; 0 for none. */
let leaf: usize = 0;

/** The innermost open array or object; 0 for none. The node's words are start, first byte, enclosing node, shape. */
let open: usize = 0;

/** The address at which the pass stopped. */
let stop: usize = 0;
/** The token that was expected at `stop`. */
let next: u32 = valueNext;

/** After `readElements`, the address of the list's closing bracket, or of the first byte of the next piece. */
export let rest: usize = 0;

function begin(end: usize, terminator: u32): void {
  // The terminator (0, or a newline that is then not white space) stops the pass in any open value.
  store<u8>(end, u8(terminator));
  table = (end + readAheadBytes + 15) & ~usize(15);
  tableEnd = table;
  open = 0;
  next = valueNext;
  isOutOfMemory = false;
  shapes.forgetShapes();
  skipsLeaves = false;
  setNewlineEnd(terminator === newline);
}

const faultyResult: u32 = 0;
const jsonResult: u32 = 1;
const outOfMemoryResult: u32 = 2;
const incompleteResult: u32 = 3;

/** Reads one value. `isSkipping` skips the content of values of leaf keys. */
export function readText(length: usize, isSkipping: bool): u32 {
  const end = input() + length;
  begin(end, 0);
  skipsLeaves = isSkipping;
  const after = readValue(input());
  return after === end ? jsonResult : findStop(after, end);
}

/**
 * Reads the lines of a block into consecutive roots. A line that is not JSON has two nodes. The words of the first node
 * are the line's start, 0, the next root, and the kind of fault. The second node has the offsets of fault and line end.
 */
export function readLines(length: usize): u32 {
  const start = input();
  const end = start + length;
  begin(end, newline);
  skipsLeaves = true;
  let at = start;
  while (true) {
    at = skipWhite(at);
    if (at >= end) return jsonResult;
    if (byteAt(at) === newline) {
      at++;
      continue;
    }
    const root = tableEnd;
    open = 0;
    next = valueNext;
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

/** Replaces the nodes of a text that is not JSON by two nodes for its fault. Returns false if there is no memory. */
function putFault(root: usize, start: usize, end: usize): bool {
  tableEnd = root;
  if (!ensureMemory(root + 2 * nodeBytes)) return false;
  newNode(start);
  const second = newNode(faultAt);
  putNode(root, 0, wordCount(), fault);
  putNode(second, u32(end - input()), 0, 0);
  return true;
}

/** True before the first element of a list. */
let isFirst: bool = false;

export function beginElements(): void {
  isFirst = true;
}

/** Reads a piece of a list. Each element that ends in the piece is a root. The first piece begins after the bracket. */
export function readElements(length: usize, isLast: bool, isTolerant: bool): u32 {
  const end = input() + length;
  begin(end, 0);
  skipsLeaves = true;
  rest = input();
  while (true) {
    rest = skipWhite(rest);
    if (isFirst && byteAt(rest) === closeBracket) return jsonResult;
    const root = tableEnd;
    next = valueNext;
    open = 0;
    let after = readValue(rest);
    if (isOutOfMemory) return outOfMemoryResult;
    if (after === 0 || (byteAt(after) !== comma && byteAt(after) !== closeBracket)) {
      if (after === 0) findStop(0, end);
      else findFault(after, end, commaNext);
      tableEnd = root;
      // An element that may be cut off is read again with the next piece.
      if (!isLast && faultAt + readAheadBytes >= end) return incompleteResult;
      if (!isTolerant) return faultyResult;
      after = endOfElement(rest, end);
      if (after === 0) return isLast ? faultyResult : incompleteResult;
      // An element is missing.
      if (after === rest) return faultyResult;
      if (!putFault(root, rest, after)) return outOfMemoryResult;
    }
    isFirst = false;
    rest = after;
    if (byteAt(after) === closeBracket) return jsonResult;
    rest++;
  }
}

/** Returns the address of the comma or bracket that ends an element that is not JSON; 0 if the text has neither. */
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

/** Sets the fault at `after`, the end of a value, or where the pass stopped if `after` is 0. Returns the result. */
function findStop(after: usize, end: usize): u32 {
  if (isOutOfMemory) return outOfMemoryResult;
  findFault(min(end, after === 0 ? stop : after), end, after === 0 ? next : endNext);
  return faultyResult;
}

function stopAt(at: usize, expected: u32): usize {
  stop = at;
  next = expected;
  return 0;
}

/** In ASCII, `]` and `}` are two after `[` and `{`. */
const closingDistance: u32 = 2;

/** Reads a value and the white space after it. Returns the end of both; 0 if the pass stopped. */
function readValue(from: usize): usize {
  let at = skipWhite(from);
  leaf = 0;
  while (true) {
    const byte = byteAt(at);
    // Ensures memory for two nodes, because a key may follow the value.
    if (tableEnd + 2 * nodeBytes > memoryEnd && !ensureMemory(tableEnd + 2 * nodeBytes)) {
      isOutOfMemory = true;
      return 0;
    }
    const node = newNode(at);
    let valueEnd: usize = 0;
    let detail: u32 = 0;
    let shape = shapes.arrayShape;
    if (byte === quote) {
      const end = endOfString(at + 1);
      if (end === 0) return stopAt(at, valueNext);
      valueEnd = end + 1;
      detail = unitCount;
      shape = shapes.stringShape;
    } else if (byte === openBrace || byte === openBracket) {
      if (byte === openBracket) valueEnd = skipNumbers(at + 1);
      if (valueEnd !== 0) detail = numberCount;
      else {
        if (skipsLeaves && leaf === 0 && isInObject() && (usesOf(keyBefore(node)) & leafUse) !== 0) leaf = node;
        let initialShape = shapes.noShape;
        // Before its first element, an array has the id of its key instead of a shape, for `shapes.beginShape`.
        if (byte === openBracket) initialShape = isInObject() ? keyBefore(node) : 0;
        else if (skipsLeaves && leaf === 0) {
          initialShape = shapes.emptyShape;
          shapes.beginShape(open === 0 ? 0 : load<u32>(open, 12));
        }
        putNode(node, byte, u32(open), initialShape);
        open = node;
        at = skipWhite(at + 1);
        if (byteAt(at) !== byte + closingDistance) {
          if (byte === openBrace) at = readKey(at);
          if (at === 0) return 0;
          continue;
        }
      }
    } else {
      valueEnd = skipWord(at);
      shape = byte === 0x6e ? shapes.nullShape : shapes.booleanShape;
      if (valueEnd === 0) {
        shape = shapes.numberShape;
        valueEnd = skipNumber(at);
        if (valueEnd === 0) return stopAt(at, valueNext);
      }
    }
    if (valueEnd !== 0) {
      at = valueEnd;
      putNode(node, u32(at - input()), wordCount(), detail);
      addMember(node, shape);
    }
    while (true) {
      if (leaf !== 0) tableEnd = open + nodeBytes;
      at = skipWhite(at);
      if (open === 0) return at;
      const opening = load<u32>(open, 4);
      const byte = byteAt(at);
      if (byte === comma) {
        at = skipWhite(at + 1);
        if (opening === openBrace) at = readKey(at);
        if (at === 0) return 0;
        break;
      }
      if (byte !== opening + closingDistance) return stopAt(at, commaNext);
      at++;
      const value = open;
      const shape = load<u32>(value, 12);
      open = usize(load<u32>(value, 8));
      putNode(value, u32(at - input()), wordCount(), byte === closeBracket ? 0 : shape);
      addMember(value, byte === closeBracket ? shapes.arrayShape : value === leaf ? shapes.leafShape : shape);
      if (value === leaf) leaf = 0;
    }
  }
}

/** Adds a value to the shape of the open object, or gives the value's shape to the open array. */
function addMember(node: usize, value: u32): void {
  if (!isInObject()) {
    if (open !== 0) store<u32>(open, value, 12);
    return;
  }
  const shape = load<u32>(open, 12);
  if (shape === shapes.noShape) return;
  const key = keyBefore(node);
  if (value === shapes.stringShape && (usesOf(key) & shapeTextUse) !== 0) {
    const text = input() + load<u32>(node) + 1;
    const id = idOf(text, input() + load<u32>(node, 4) - 1 - text);
    value = id !== 0 && id <= maxRegistered ? shapes.textShape + id : shapes.noShape;
  }
  store<u32>(open, key === 0 || value === shapes.noShape ? shapes.noShape : shapes.nextShape(shape, key, value), 12);
}

/** Returns the id of the key of a value; 0 if the key has no id. */
function keyBefore(node: usize): u32 {
  const id = load<u32>(node - nodeBytes, 12);
  return id === encodedKey ? 0 : id;
}

function isInObject(): bool {
  return open !== 0 && load<u32>(open, 4) === openBrace;
}

function wordCount(): u32 {
  return u32((tableEnd - table) >> 2);
}

function newNode(at: usize): usize {
  const node = tableEnd;
  store<u32>(node, u32(at - input()));
  tableEnd = node + nodeBytes;
  return node;
}

function putNode(node: usize, end: u32, after: u32, detail: u32): void {
  store<u32>(node, end, 4);
  store<u32>(node, after, 8);
  store<u32>(node, detail, 12);
}

let memoryEnd: usize = 0;

/** Returns false if memory cannot reach an address. Memory grows by at least a quarter if possible. */
function ensureMemory(end: usize): bool {
  const pages = usize(memory.size());
  const wanted = ((end + 0xffff) >> 16) - pages;
  const hasMemory = end <= pages << 16 || memory.grow(i32(max(wanted, pages >> 2))) >= 0;
  const isEnough = hasMemory || memory.grow(i32(wanted)) >= 0;
  memoryEnd = usize(memory.size()) << 16;
  return isEnough;
}

/** Reads a key, and returns the start of its value; 0 if the pass stopped. */
function readKey(at: usize): usize {
  if (byteAt(at) !== quote) return stopAt(at, keyNext);
  const node = newNode(at);
  const shape = load<u32>(open, 12);
  let id = shapes.expectedKey(shape, at + 1);
  let end = at + 1;
  if (id !== 0) end += lengthOf(id);
  else {
    end = endOfString(at + 1);
    if (end === 0) return stopAt(at, keyNext);
    const length = end - at - 1;
    // A key in ASCII without escapes has as many UTF-16 units as bytes.
    if (usize(unitCount) !== length) id = encodedKey;
    else id = shape === shapes.noShape ? idOf(at + 1, length) : learnedIdOf(at + 1, length);
    if (shape === shapes.emptyShape) shapes.setFirstKey(id === encodedKey ? 0 : id);
  }
  putNode(node, u32(end + 1 - input()), 0, id);
  const separator = skipWhite(end + 1);
  return byteAt(separator) === colon ? skipWhite(separator + 1) : stopAt(separator, colonNext);
}
