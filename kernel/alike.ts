/**
 * Texts of JSON that are built alike: what was made of one, by copying values of it and words of our own, is made of the next
 * without another look (src/trajectories/formats/alike.ts).
 */
import { byteAt, same } from "./bytes";
import { hasRoom, input, keptBytes, keptStart, kindOf, nodeBytes, shape, table, tableEnd } from "./nodes";

/** Bytes of what is kept. */
let kept: usize = 0;

/**
 * Of a text that is kept, in words: bytes of all of it; its shape; bytes of its nodes, how many nodes the text's must say the
 * same as its, and of how many pieces it is made. Behind that stand its nodes, the offsets of those that must, its pieces, and its bytes.
 */
const headBytes: usize = 24;
/** Of a piece, in words: the offset of the node that is copied, or of bytes among those of the text; and how many, 0 for a node. */
const pieceBytes: usize = 8;

export function forget(): void {
  kept = 0;
}

/** Room for a text of which so many bytes are to be kept; 0 where there is none. */
export function keep(length: usize): usize {
  if (kept + length > keptBytes) return 0;
  const place = keptStart() + kept;
  kept += length;
  return place;
}

/** The number, from 1, of the text that is kept which the one that was gone over is like, and tells where it is copied to; 0 for none. */
export function alike(facts: usize): u32 {
  const end = keptStart() + kept;
  let number: u32 = 1;
  for (let one = keptStart(); one < end; one += load<u32>(one)) {
    if (load<u32>(one, 4) === shape && isLike(one)) return compose(one, facts) ? number : 0;
    number++;
  }
  return 0;
}

function nodesOf(one: usize): usize {
  return one + headBytes;
}

function mustsOf(one: usize): usize {
  return nodesOf(one) + load<u32>(one, 8);
}

function piecesOf(one: usize): usize {
  return mustsOf(one) + (usize(load<u32>(one, 12)) << 2);
}

function bytesOf(one: usize): usize {
  return piecesOf(one) + load<u32>(one, 16) * pieceBytes;
}

/** Whether a text has the same keys, and values of the same kinds, in the same places; and says the same where it must. */
function isLike(one: usize): bool {
  const length = tableEnd - table;
  if (load<u32>(one, 8) !== length) return false;
  const nodes = nodesOf(one);
  const bytes = bytesOf(one);
  for (let node: usize = 0; node < length; node += nodeBytes) {
    const third = load<u32>(table + node, 8);
    if (third !== load<u32>(nodes + node, 8)) return false;
    if (third <= 1) {
      if (!saysSame(nodes + node, bytes, table + node)) return false;
    } else if (kindOf(byteAt(bytes + load<u32>(nodes + node))) !== kindOf(byteAt(input() + load<u32>(table + node)))) {
      return false;
    }
  }
  const musts = mustsOf(one);
  const end = piecesOf(one);
  for (let at = musts; at < end; at += 4) {
    const node = usize(load<u32>(at));
    if (!saysSame(nodes + node, bytes, table + node)) return false;
  }
  return true;
}

function saysSame(node: usize, bytes: usize, other: usize): bool {
  const start = load<u32>(node);
  const from = load<u32>(other);
  const length = load<u32>(node, 4) - start;
  return load<u32>(other, 4) - from === length && same(bytes + start, input() + from, length);
}

/** Makes of the text what was made of another; false where there is no room for it. */
function compose(one: usize, facts: usize): bool {
  const pieces = piecesOf(one);
  const bytes = bytesOf(one);
  let length: usize = 0;
  for (let at = pieces; at < bytes; at += pieceBytes) length += lengthOf(at);
  const copied = (tableEnd + 15) & ~usize(15);
  store<u32>(facts, u32(copied), 20);
  store<u32>(facts, u32(length), 24);
  if (!hasRoom(copied + length + 64)) return false;
  let to = copied;
  for (let at = pieces; at < bytes; at += pieceBytes) {
    const size = lengthOf(at);
    const from = load<u32>(at, 4) !== 0 ? bytes + load<u32>(at) : input() + load<u32>(table + load<u32>(at));
    if (size > 64) memory.copy(to, from, size);
    else for (let done: usize = 0; done < size; done += 16) v128.store(to + done, v128.load(from + done));
    to += size;
  }
  return true;
}

function lengthOf(piece: usize): usize {
  const own = usize(load<u32>(piece, 4));
  if (own !== 0) return own;
  const node = table + load<u32>(piece);
  return load<u32>(node, 4) - load<u32>(node);
}
