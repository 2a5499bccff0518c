/** Takes texts that are longer than a block, and are an array or a request, element by element. */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { type Found, mergeFound, nothingFound, packFound } from "../groups/parts/found.ts";
import {
  type Bytes,
  blockBytes,
  elementsOf,
  type Position,
  type Range,
  readRange,
  Shrunk,
  type Source,
  unitsBefore,
} from "../input/index.ts";
import { type Fault, faultIn, JsonReader } from "../json/reader.ts";
import { afterOf, rootOf } from "../json/table.ts";
import { closeBrace, endOfText, newline, openBrace, openBracket, quote, Walker } from "../json/walk.ts";
import { Checker, hasTwiceOf, keyUses } from "./checker.ts";
import { firstBadByte, maxTextBytes } from "./faults.ts";
import { type Path, Places } from "./rules/places.ts";
import type { Judgement } from "./rules/rules.ts";

/** How a list is taken. */
interface ListOptions {
  /** Position of its source among the inputs. */
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  readonly signal?: AbortSignal | undefined;
  readonly found: Found;
}

/** The position of a fault. */
interface FaultPosition extends Position {
  /** Undefined if the text is not UTF-8 somewhere. */
  readonly fault: Fault | undefined;
}

/** A list that cannot be read. */
export interface BrokenList {
  readonly part: Position & { readonly length: number; readonly checksum: number; readonly digest: Buffer };
  readonly wrong: FaultPosition & { readonly column: number };
  /** The bytes around the fault, and the offset of the fault in them. */
  readonly around: Buffer;
  readonly at: number;
}

/**
 * Takes a long text if it is a list. Only the elements that are being read are in memory.
 * `no-list` if it has to be read as a whole. Of a text that is not taken, nothing is added to what was found.
 * @throws Shrunk; the signal's reason
 */
export const takeList = async (
  { bytes, name }: Source,
  text: Range & Position,
  { found: before, judgement, index, groupBy, signal }: ListOptions,
): Promise<"taken" | "no-list" | BrokenList> => {
  const list = await listIn(bytes, text);
  if (list === undefined) return "no-list";
  const found = nothingFound(judgement, { enough: before.problems.enough, isMarked: before.parts.isMarked });
  const reader = new JsonReader(keyUses);
  const checker = new Checker({ index, groupBy, found, file: name, reader: () => reader });
  const wrong = faultOfHead(list) ?? (await takeElements(bytes, list, { reader, checker, signal }));
  if (wrong === "no-list") return wrong;
  if (wrong !== undefined) return await brokenAt(bytes, list, { wrong, signal });
  // The groups of a request are no shape of the input.
  if (list.path.length > 0) found.shapes.delete("groups");
  mergeFound(before, packFound(found));
  return "taken";
};

/** A text that is a list, without the white space around it. */
interface List extends Range, Position {
  /** The text up to the list, its bracket included. */
  readonly head: Buffer;
  /** Its path in the text: the groups of a request, or all of it. */
  readonly path: Path;
}

/** Bytes of a text in which the list of its groups begins: other keys take less. */
const lookBytes = 2 ** 16;

const listIn = async (source: Bytes, { start, end, line }: Range & Position): Promise<List | undefined> => {
  const look = await readRange(source, { start, length: Math.min(lookBytes, end - start) });
  const walker = new Walker(look);
  const from = walker.at;
  const list = async (path: Path): Promise<List> => ({
    head: look.subarray(from, walker.at + 1),
    path,
    start: start + from,
    line: new Places({ bytes: look, start, line }).mark(from),
    end: await endOfRange(source, { start, end }),
  });
  if (look[from] === openBracket) return await list([]);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (look[walker.at] === openBracket && key === "trajectory_groups") return await list([key]);
    walker.skip();
  }
  return undefined;
};

/** The end of a range without the white space before it. */
const endOfRange = async (source: Bytes, { start, end }: Range): Promise<number> => {
  for (let [to, size] = [end, lookBytes]; ; size = blockBytes) {
    const length = Math.min(size, to - start);
    const kept = endOfText(await readRange(source, { start: to - length, length }), length);
    to -= length - kept;
    if (kept > 0 || to === start) return to;
  }
};

/** The fault of a text before its list. */
const faultOfHead = ({ head, start, line }: List): FaultPosition | undefined => {
  const { at, fault } = faultIn(head) ?? { at: 0, fault: "end" };
  const place = { start: start + at, line: new Places({ bytes: head, start, line }).mark(at) };
  return fault === "end" ? undefined : { ...place, fault };
};

/** What is wrong, or that the text has to be read as a whole; undefined if all was taken. */
type Wrong = FaultPosition | "no-list" | undefined;

interface Taking {
  readonly reader: JsonReader;
  readonly checker: Checker;
  readonly signal: AbortSignal | undefined;
}

const takeElements = async (source: Bytes, list: List, { reader, checker, signal }: Taking): Promise<Wrong> => {
  const { head, start, end, path } = list;
  const isRequest = path.length > 0;
  let count = 0;
  const range = {
    start: start + head.length,
    end,
    line: new Places({ bytes: head, start, line: list.line }).mark(head.length),
  };
  for await (const part of elementsOf(source, range, { reader, isTolerant: false, signal })) {
    const { text, length, fault, isEnd } = part;
    if (fault !== undefined || !isUtf8(text.bytes.subarray(0, length))) {
      const { at = 0, fault: kind } = fault ?? {};
      return { start: part.start + at, line: part.places.mark(at), fault: kind };
    }
    for (let node = 0; node < text.words.length; node = afterOf(text, node)) {
      checker.takeElement(part, node, { path: [...path, count++], isGroup: isRequest });
    }
    const place = { start: part.start + length, line: part.places.mark(length) };
    if (isEnd) return await takeRest(source, list, { place, checker });
  }
  return undefined;
};

/** Takes what is around the elements. `place` is that of the closing bracket. */
const takeRest = async (
  source: Bytes,
  { head, path, start, line, end }: List,
  { place, checker }: { readonly place: Position; readonly checker: Checker },
): Promise<Wrong> => {
  const isRequest = path.length > 0;
  // Of what follows an array, the first bytes tell that it is no white space.
  const length = isRequest ? end - place.start : Math.min(end - place.start, lookBytes);
  if (length > maxTextBytes) return "no-list";
  const tail = await readRange(source, { start: place.start, length });
  const around = Buffer.concat([head, tail]);
  const root = rootOf(around);
  if (root === undefined || !isUtf8(around)) {
    const { at = head.length, fault } = faultIn(around) ?? {};
    const behind = at - head.length;
    return { start: place.start + behind, line: new Places({ ...place, bytes: tail }).mark(behind), fault };
  }
  if (!isRequest) return undefined;
  // A request that has a key twice may have other groups.
  if (hasTwiceOf(root)) return "no-list";
  const before = new Places({ bytes: head, start, line });
  const behind = new Places({ ...place, bytes: tail, unitsBefore: () => unitsBefore(source, place) });
  const places = {
    mark: (at: number) => before.mark(at),
    of: (at: number) => (at < head.length ? before.of(at) : behind.of(at - head.length)),
  };
  checker.take({ text: root.text, start, places }, root.node);
  return undefined;
};

/** Reads all of a list that is broken, so that its digest is known. A byte that is not UTF-8 is its first fault. */
const brokenAt = async (
  source: Bytes,
  { start, end, line }: List,
  { wrong: known, signal }: { readonly wrong: FaultPosition; readonly signal: AbortSignal | undefined },
): Promise<BrokenList> => {
  const hash = createHash("sha256");
  let checksum = 0;
  let lines = 0;
  let bad: FaultPosition | undefined;
  for await (const { bytes, at } of piecesOf(source, { start, end }, signal)) {
    hash.update(bytes);
    checksum = crc32(bytes, checksum);
    if (bad === undefined && !isUtf8(bytes)) {
      const first = firstBadByte(bytes);
      bad = { start: at + first, line: line + lines + linesIn(bytes.subarray(0, first)), fault: undefined };
    }
    lines += linesIn(bytes);
  }
  const wrong = bad ?? known;
  const from = Math.max(start, wrong.start - aroundBytes);
  const read = await readRange(source, { start: from, length: Math.min(end, wrong.start + aroundBytes) - from });
  // A text that begins with a key lacks its brace, and these bytes do not.
  const skipped = read[0] === quote && wrong.start > from ? 1 : 0;
  return {
    part: { start, line, length: end - start, checksum, digest: hash.digest() },
    wrong: { ...wrong, column: unitsBefore(source, wrong) + 1 },
    around: read.subarray(skipped),
    at: wrong.start - from - skipped,
  };
};

/** Bytes before a fault, and after it, that tell what it is. */
const aroundBytes = 256;

/** A range piece by piece, cut between characters, and the offset of each piece. */
async function* piecesOf(
  source: Bytes,
  { start, end }: Range,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly bytes: Buffer; readonly at: number }, void> {
  const room = Buffer.allocUnsafeSlow(Math.max(1, Math.min(blockBytes, end - start)));
  for (let at = start; at < end; ) {
    signal?.throwIfAborted();
    const length = Math.min(room.length, end - at);
    if ((await source.read(room.subarray(0, length), at)) < length) throw new Shrunk();
    let whole = length;
    while (length - whole < maxContinuations && isContinued(room[whole - 1])) whole--;
    // The last character may continue in the next piece.
    const isCut = at + length < end && whole > 1 && (room[whole - 1] ?? 0) >= firstOfSeveral;
    whole = isCut ? whole - 1 : length;
    yield { bytes: room.subarray(0, whole), at };
    at += whole;
  }
}

/** True if a byte continues a character. */
const isContinued = (byte = 0): boolean => (byte & 0xc0) === 0x80;

/** The number of bytes that continue a character, at most; the lowest byte that begins a character of several. */
const maxContinuations = 3;
const firstOfSeveral = 0xc0;

const linesIn = (bytes: Buffer): number => {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
};
