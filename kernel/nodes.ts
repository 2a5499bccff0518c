/** Goes over one text of JSON: whether it is JSON, and where all of its values stand */

import { byteAt, colon, comma, openBrace, openBracket, quote } from "./bytes";
import { isWord, skipNumber } from "./scalars";
import { characters, endOfString } from "./text";

/** Bytes of a node: three words. */
const nodeBytes: usize = 12;

/** Bytes behind a text that may be looked at, in vain. */
const spareBytes: usize = 64;

/** Where the text is written to that is gone over. */
export function input(): usize {
  return (__heap_base + 63) & ~usize(63);
}

/** Where the nodes of the text stand. */
export let table: usize = 0;
let tableEnd: usize = 0;

/** Whether the memory did not suffice. */
export let full: bool = false;

/** The innermost array or object that is open, whose third word is that around it; 0 for none. */
let open: usize = 0;

/** Bytes of the nodes of the text; 0 where it is no JSON, or too much of it. */
export function nodesOf(length: usize): usize {
  const start = input();
  const end = start + length;
  // Neither white space nor a part of anything: it ends all that is open.
  store<u8>(end, 0);
  table = (end + spareBytes + 15) & ~usize(15);
  tableEnd = table;
  open = 0;
  full = false;
  let at = behindBlank(start);
  while (true) {
    const byte = byteAt(at);
    const node = newNode(at);
    if (node === 0) return 0;
    if (byte === openBrace || byte === openBracket) {
      store<u32>(node, u32(open), 8);
      open = node;
      at = behindBlank(at + 1);
      if (byteAt(at) !== byte + closingDistance) {
        if (byte === openBrace) at = behindKey(at);
        if (at === 0) return 0;
        continue;
      }
    } else {
      at = byte === quote ? behindString(at) : behindScalar(at);
      if (at === 0) return 0;
      store<u32>(node, u32(at - start), 4);
      store<u32>(node, wordsSoFar(), 8);
    }
    while (true) {
      at = behindBlank(at);
      if (open === 0) return at === end ? tableEnd - table : 0;
      const opening = byteAt(start + load<u32>(open));
      const next = byteAt(at);
      if (next === comma) {
        at = behindBlank(at + 1);
        if (opening === openBrace) at = behindKey(at);
        if (at === 0) return 0;
        break;
      }
      if (next !== opening + closingDistance) return 0;
      at++;
      const outer = load<u32>(open, 8);
      store<u32>(open, u32(at - start), 4);
      store<u32>(open, wordsSoFar(), 8);
      open = outer;
    }
  }
}

/** In ASCII `]` and `}` stand two behind `[` and `{`. */
const closingDistance: u32 = 2;

function wordsSoFar(): u32 {
  return u32((tableEnd - table) >> 2);
}

/** Begins a node with what stands here; gives its place in memory, 0 where there is none. */
function newNode(at: usize): usize {
  const node = tableEnd;
  if (!hasRoom(node + nodeBytes)) {
    full = true;
    return 0;
  }
  store<u32>(node, u32(at - input()));
  tableEnd = node + nodeBytes;
  return node;
}

/** Whether memory reaches up to there, or could be made to. */
function hasRoom(end: usize): bool {
  const pages = usize(memory.size());
  if (end <= pages << 16) return true;
  const wanted = ((end + 0xffff) >> 16) - pages;
  return memory.grow(i32(max(wanted, pages >> 2))) >= 0 || memory.grow(i32(wanted)) >= 0;
}

/** Place of the value of the member whose key begins here; 0 where that is none. */
function behindKey(at: usize): usize {
  if (byteAt(at) !== quote) return 0;
  const node = newNode(at);
  if (node === 0) return 0;
  const end = behindString(at);
  if (end === 0) return 0;
  const length = end - at - 2;
  store<u32>(node, u32(end - input()), 4);
  // Without escapes, and with nothing beyond ASCII, it has as many characters as bytes.
  store<u32>(node, characters === length ? 1 : 0, 8);
  const between = behindBlank(end);
  return byteAt(between) === colon ? behindBlank(between + 1) : 0;
}

function behindString(at: usize): usize {
  const end = endOfString(at + 1);
  return end === 0 ? 0 : end + 1;
}

function behindScalar(at: usize): usize {
  const word = isWord(at);
  return word !== 0 ? word : skipNumber(at);
}

/** Place of what follows white space, newlines among it. */
function behindBlank(from: usize): usize {
  let at = from;
  while (true) {
    const byte = byteAt(at);
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x09 && byte !== 0x0d) return at;
    at++;
  }
}
