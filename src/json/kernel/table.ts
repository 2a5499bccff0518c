/** Writes a table of the values of JSON in one pass over its bytes: it knows no field and no rule. */
import {
  backslash,
  behindWhite,
  byteAt,
  closeBrace,
  closeBracket,
  colon,
  comma,
  endAtNewline,
  isWhite,
  newline,
  openBrace,
  openBracket,
  quote,
} from "./bytes";
import { colonNext, commaNext, endNext, fault, faultAt, keyNext, nameFault, valueNext } from "./faults";
import { idOf, isChoice, isLeaf, learnedIdOf, lengthOf, maxNamed, usesOf } from "./keys";
import { behindNumbers, isWord, numbers, skipNumber } from "./scalars";
import {
  arrayShape,
  beginShape,
  booleanShape,
  emptyShape,
  expectedKey,
  expectedStart,
  forgetShapes,
  leafShape,
  nextShape,
  noShape,
  nullShape,
  numberShape,
  setStart,
  stringShape,
  textShape,
} from "./shapes";
import { characters, endOfString } from "./strings";

/**
 * Bytes of a node, four words: where it starts and ends; the node behind all that is inside of it, in words, 0 for a key; and
 * of a key its id, of a string its characters, of an array of numbers how many they are, of an object its shape. Each key is a
 * node before its value.
 */
const nodeBytes: usize = 16;

/** The id of a key that has escapes, or characters beyond ASCII: its bytes have to be decoded first. */
const encodedKey: u32 = 0xffffffff;

/** Bytes behind a text that may be looked at, in vain. */
const spareBytes: usize = 64;

/** Where the text is written to that is gone over. */
export function input(): usize {
  return (__heap_base + 63) & ~usize(63);
}

/** Where the nodes of the text stand. */
export let table: usize = 0;
export let tableEnd: usize = 0;

/** True if the memory did not suffice. */
let full: bool = false;

/** True if nothing is kept of what is inside the values of leaf keys; the outermost of those that is open, 0 for none. */
let skipsLeaves: bool = false;
let leaf: usize = 0;

/** The innermost array or object that is open; its second word is its first byte, its third the one around it; 0 for none. */
let open: usize = 0;

/** Where the pass stopped, and what was to come there. */
let stop: usize = 0;
let next: u32 = valueNext;

/** The token that contains the fault. */
export let token: usize = 0;

/** The closing bracket of a list, or the byte with which the next piece of it begins. */
export let rest: usize = 0;

function begin(end: usize, last: u32): void {
  // Neither white space nor a part of anything, or the end of a line: it ends all that is open.
  store<u8>(end, u8(last));
  table = (end + spareBytes + 15) & ~usize(15);
  tableEnd = table;
  open = 0;
  next = valueNext;
  full = false;
  forgetShapes();
  skipsLeaves = false;
  endAtNewline(last === newline);
}

/** What reading found. */
const isFaulty: u32 = 0;
const isJson: u32 = 1;
const isTooMuch: u32 = 2;
const goesOn: u32 = 3;

/** Reads one value; what is inside of the values of leaf keys is skipped if that is asked for. */
export function readText(length: usize, isSkipping: bool): u32 {
  const end = input() + length;
  begin(end, 0);
  skipsLeaves = isSkipping;
  const behind = readValue(input());
  return behind === end ? isJson : nameStop(behind, end);
}

/**
 * Reads the lines of a block, the roots of which are one after the other. Of one that is not JSON there are two nodes: where it
 * starts, 0, the next root, and its fault; where the fault and its token are, and where the line ends.
 */
export function readLines(length: usize): u32 {
  const start = input();
  const end = start + length;
  begin(end, newline);
  skipsLeaves = true;
  let at = start;
  while (true) {
    at = behindWhite(at);
    if (at >= end) return isJson;
    if (byteAt(at) === newline) {
      at++;
      continue;
    }
    const root = tableEnd;
    open = 0;
    next = valueNext;
    const behind = readValue(at);
    if (behind !== 0 && byteAt(behind) === newline) {
      at = behind + 1;
      continue;
    }
    let lineEnd = at;
    while (byteAt(lineEnd) !== newline) lineEnd++;
    let textEnd = lineEnd;
    while (isWhite(byteAt(textEnd - 1))) textEnd--;
    if (nameStop(behind, textEnd) === isTooMuch || !putFault(root, at, lineEnd)) return isTooMuch;
    at = lineEnd + 1;
  }
}

/** Puts the nodes of a text that is not JSON in place of those that it has; false if there is no room. */
function putFault(root: usize, start: usize, end: usize): bool {
  tableEnd = root;
  if (!hasRoom(root + 2 * nodeBytes)) return false;
  newNode(start);
  const second = newNode(faultAt);
  putNode(root, 0, wordsSoFar(), fault);
  putNode(second, u32(token - input()), u32(end - input()), 0);
  return true;
}

/** True if no element of the list was read yet. */
let isFirst: bool = false;

/** Begins to read the elements of a list, which come in pieces. */
export function beginElements(): void {
  isFirst = true;
}

/**
 * Reads the elements of a list that end in a piece, from after its bracket on: their roots are one after the other.
 * `isTolerant` reads past an element that is not JSON, which has two nodes as such a line has: it ends at the comma or
 * bracket that is outside of its strings and brackets.
 */
export function readElements(length: usize, isLast: bool, isTolerant: bool): u32 {
  const end = input() + length;
  begin(end, 0);
  skipsLeaves = true;
  rest = input();
  while (true) {
    rest = behindWhite(rest);
    if (isFirst && byteAt(rest) === closeBracket) return isJson;
    const root = tableEnd;
    next = valueNext;
    open = 0;
    let behind = readValue(rest);
    if (full) return isTooMuch;
    if (behind === 0 || (byteAt(behind) !== comma && byteAt(behind) !== closeBracket)) {
      if (behind === 0) nameStop(0, end);
      else {
        token = behind;
        nameFault(token, end, commaNext);
      }
      tableEnd = root;
      // What is cut off, or may be, is read again with what follows.
      if (!isLast && faultAt + spareBytes >= end) return goesOn;
      if (!isTolerant) return isFaulty;
      behind = endOfElement(rest, end);
      if (behind === 0) return isLast ? isFaulty : goesOn;
      // There is no element before the comma or the bracket.
      if (behind === rest) return isFaulty;
      if (!putFault(root, rest, behind)) return isTooMuch;
    }
    isFirst = false;
    rest = behind;
    if (byteAt(behind) === closeBracket) return isJson;
    rest++;
  }
}

/** Place of the comma or bracket that ends an element that is not JSON; 0 if it does not end. */
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

/** Names the fault of a text that ends there: where the pass stopped, or behind its value. */
function nameStop(behind: usize, end: usize): u32 {
  if (full) return isTooMuch;
  token = min(end, behind === 0 ? stop : behind);
  nameFault(token, end, behind === 0 ? next : endNext);
  return isFaulty;
}

function stopAt(at: usize, expected: u32): usize {
  stop = at;
  next = expected;
  return 0;
}

/** In ASCII `]` and `}` stand two behind `[` and `{`. */
const closingDistance: u32 = 2;

/** Reads a value; gives the place of what follows it, 0 if it stopped. */
function readValue(from: usize): usize {
  let at = behindWhite(from);
  leaf = 0;
  while (true) {
    const byte = byteAt(at);
    // A key may follow the value.
    if (tableEnd + 2 * nodeBytes > memoryEnd && !hasRoom(tableEnd + 2 * nodeBytes)) {
      full = true;
      return 0;
    }
    const node = newNode(at);
    let behind: usize = 0;
    let fact: u32 = 0;
    let shape = arrayShape;
    if (byte === quote) {
      const end = endOfString(at + 1);
      if (end === 0) return stopAt(at, valueNext);
      behind = end + 1;
      fact = characters;
      shape = stringShape;
    } else if (byte === openBrace || byte === openBracket) {
      if (byte === openBracket) behind = behindNumbers(at + 1);
      if (behind !== 0) fact = numbers;
      else {
        if (skipsLeaves && leaf === 0 && isMember() && (usesOf(keyBefore(node)) & isLeaf) !== 0) leaf = node;
        let shape = noShape;
        if (byte === openBracket) shape = isMember() ? keyBefore(node) : 0;
        else if (skipsLeaves && leaf === 0) {
          shape = emptyShape;
          beginShape(open === 0 ? 0 : load<u32>(open, 12));
        }
        putNode(node, byte, u32(open), shape);
        open = node;
        at = behindWhite(at + 1);
        if (byteAt(at) !== byte + closingDistance) {
          if (byte === openBrace) at = behindKey(at);
          if (at === 0) return 0;
          continue;
        }
      }
    } else {
      behind = isWord(at);
      shape = byte === 0x6e ? nullShape : booleanShape;
      if (behind === 0) {
        shape = numberShape;
        behind = skipNumber(at);
        if (behind === 0) return stopAt(at, valueNext);
      }
    }
    if (behind !== 0) {
      at = behind;
      putNode(node, u32(at - input()), wordsSoFar(), fact);
      addMember(node, shape);
    }
    while (true) {
      if (leaf !== 0) tableEnd = open + nodeBytes;
      at = behindWhite(at);
      if (open === 0) return at;
      const opening = load<u32>(open, 4);
      const byte = byteAt(at);
      if (byte === comma) {
        at = behindWhite(at + 1);
        if (opening === openBrace) at = behindKey(at);
        if (at === 0) return 0;
        break;
      }
      if (byte !== opening + closingDistance) return stopAt(at, commaNext);
      at++;
      const value = open;
      const shape = load<u32>(value, 12);
      open = usize(load<u32>(value, 8));
      putNode(value, u32(at - input()), wordsSoFar(), byte === closeBracket ? 0 : shape);
      addMember(value, byte === closeBracket ? arrayShape : value === leaf ? leafShape : shape);
      if (value === leaf) leaf = 0;
    }
  }
}

/** Adds the value at a node to the shape of the object that is open; an array that is open has the shape of its last element. */
function addMember(node: usize, value: u32): void {
  if (!isMember()) {
    if (open !== 0) store<u32>(open, value, 12);
    return;
  }
  const shape = load<u32>(open, 12);
  if (shape === noShape) return;
  const key = keyBefore(node);
  if (value === stringShape && (usesOf(key) & isChoice) !== 0) {
    const text = input() + load<u32>(node) + 1;
    const id = idOf(text, input() + load<u32>(node, 4) - 1 - text);
    value = id !== 0 && id <= maxNamed ? textShape + id : noShape;
  }
  store<u32>(open, key === 0 || value === noShape ? noShape : nextShape(shape, key, value), 12);
}

/** The id of the key of a value; 0 if it has none. */
function keyBefore(node: usize): u32 {
  const id = load<u32>(node - nodeBytes, 12);
  return id === encodedKey ? 0 : id;
}

/** True if the value that begins is that of a key. */
function isMember(): bool {
  return open !== 0 && load<u32>(open, 4) === openBrace;
}

function wordsSoFar(): u32 {
  return u32((tableEnd - table) >> 2);
}

/** Begins a node with what stands here, for which there is room; gives its address. */
function newNode(at: usize): usize {
  const node = tableEnd;
  store<u32>(node, u32(at - input()));
  tableEnd = node + nodeBytes;
  return node;
}

function putNode(node: usize, end: u32, behind: u32, fact: u32): void {
  store<u32>(node, end, 4);
  store<u32>(node, behind, 8);
  store<u32>(node, fact, 12);
}

/** The end of memory, as far as it is known. */
let memoryEnd: usize = 0;

/** True if memory reaches up to there, or could be made to. */
function hasRoom(end: usize): bool {
  const pages = usize(memory.size());
  const wanted = ((end + 0xffff) >> 16) - pages;
  const hasMemory = end <= pages << 16 || memory.grow(i32(max(wanted, pages >> 2))) >= 0;
  const isThere = hasMemory || memory.grow(i32(wanted)) >= 0;
  memoryEnd = usize(memory.size()) << 16;
  return isThere;
}

/** Place of the value of the member whose key begins here; 0 if it stopped. */
function behindKey(at: usize): usize {
  if (byteAt(at) !== quote) return stopAt(at, keyNext);
  const node = newNode(at);
  const shape = load<u32>(open, 12);
  let id = shape === noShape ? 0 : shape === emptyShape ? expectedStart(at + 1) : expectedKey(shape, at + 1);
  let end = at + 1;
  if (id !== 0) end += lengthOf(id);
  else {
    end = endOfString(at + 1);
    if (end === 0) return stopAt(at, keyNext);
    const length = end - at - 1;
    // Without escapes, and with nothing beyond ASCII, it has as many characters as bytes.
    if (usize(characters) !== length) id = encodedKey;
    else id = shape === noShape ? idOf(at + 1, length) : learnedIdOf(at + 1, length);
    if (shape === emptyShape) setStart(id === encodedKey ? 0 : id);
  }
  putNode(node, u32(end + 1 - input()), 0, id);
  const between = behindWhite(end + 1);
  return byteAt(between) === colon ? behindWhite(between + 1) : stopAt(between, colonNext);
}
