/** Takes texts that are longer than a block, and are an array or a request, element by element. */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { mergeFound, nothingFound, packFound } from "../groups/parts/found.ts";
import {
  type Bytes,
  blockBytes,
  elementsOf,
  type Position,
  type Range,
  readRange,
  type Source,
  unitsBefore,
} from "../input/index.ts";
import { type Fault, faultIn, JsonReader } from "../json/reader.ts";
import { afterOf, rootOf } from "../json/table.ts";
import { closeBrace, endOfText, openBrace, openBracket, quote, Walker } from "../json/walk.ts";
import { Checker, hasTwiceOf, keyUses, type LongPart } from "./checker.ts";
import { firstBadByte, maxTextBytes } from "./faults.ts";
import { type Path, Places } from "./rules/places.ts";
import type { Spot } from "./rules/problems.ts";
import type { ScanOptions } from "./scan.ts";

/** A list that cannot be read. */
interface BrokenList {
  readonly part: LongPart;
  readonly spot: Spot;
  /** The bytes around the fault, and where it is in them; undefined if the text is not UTF-8. */
  readonly around: Buffer;
  readonly fault: { readonly at: number; readonly fault: Fault } | undefined;
}

/** The position of a fault. */
interface FaultPosition extends Position {
  /** Undefined if the text is not UTF-8 there. */
  readonly fault: Fault | undefined;
}

/**
 * Takes a long text if it is a list. Only the elements that are being read are in memory.
 * `no-list` if it has to be read as a whole. Of a text that is not taken, nothing is added to what was found.
 * @throws Shrunk; the signal's reason
 */
export const takeList = async (
  { bytes, name }: Source,
  text: Range & Position,
  { found: before, signal, ...options }: ScanOptions,
): Promise<"taken" | "no-list" | BrokenList> => {
  const list = await listIn(bytes, text);
  if (list === undefined) return "no-list";
  const { problems, parts } = before;
  const found = nothingFound(problems.judgement, { enough: problems.enough, isMarked: parts.isMarked });
  const checker = new Checker({ ...options, found, file: name });
  const wrong = faultOfHead(list) ?? (await takeElements(bytes, list, { checker, signal }));
  if (wrong === "no-list") return wrong;
  if (wrong !== undefined) return await brokenAt({ bytes, name }, list, { wrong, signal });
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

/** Bytes of a text in which the list of its groups begins: other keys take less. Also those of the white space after it. */
const lookBytes = 2 ** 16;

const listIn = async (source: Bytes, { start, end, line }: Range & Position): Promise<List | undefined> => {
  const length = Math.min(lookBytes, end - start);
  const [look, tail] = [
    await readRange(source, { start, length }),
    await readRange(source, { start: end - length, length }),
  ];
  const textLength = endOfText(tail, length);
  if (textLength === 0) return undefined;
  const walker = new Walker(look);
  const from = walker.at;
  const list = (path: Path): List => ({
    head: look.subarray(from, walker.at + 1),
    path,
    start: start + from,
    line: new Places({ bytes: look, start, line }).mark(from),
    end: end - length + textLength,
  });
  if (look[from] === openBracket) return list([]);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (look[walker.at] === openBracket && key === "trajectory_groups") return list([key]);
    walker.skip();
  }
  return undefined;
};

/** The fault of a text before its list. */
const faultOfHead = ({ head, start, line }: List): FaultPosition | undefined => {
  const { at, fault } = faultIn(head) ?? { at: 0, fault: "end" };
  return fault === "end" ? undefined : faultAt({ bytes: head, start, line }, at, fault);
};

const faultAt = (text: Position & { readonly bytes: Buffer }, at: number, fault: Fault | undefined): FaultPosition => ({
  start: text.start + at,
  line: new Places(text).mark(at),
  fault,
});

/** What is wrong, or that the text has to be read as a whole; undefined if all was taken. */
type Wrong = FaultPosition | "no-list" | undefined;

interface Taking {
  readonly checker: Checker;
  readonly signal: AbortSignal | undefined;
}

const takeElements = async (source: Bytes, list: List, { checker, signal }: Taking): Promise<Wrong> => {
  const { head, start, end, path } = list;
  const reader = new JsonReader(keyUses);
  const line = new Places({ bytes: head, start, line: list.line }).mark(head.length);
  const range = { start: start + head.length, end, line };
  let count = 0;
  for await (const part of elementsOf(source, range, { reader, isTolerant: false, signal })) {
    const { text, length, fault, isEnd, places } = part;
    if (fault !== undefined || !isUtf8(text.bytes.subarray(0, length))) {
      const at = fault?.at ?? 0;
      return { start: part.start + at, line: places.mark(at), fault: fault?.fault };
    }
    for (let node = 0; node < text.words.length; node = afterOf(text, node)) {
      checker.takeElement({ ...part, reader }, node, { path: [...path, count++], isGroup: path.length > 0 });
    }
    const place = { start: part.start + length, line: places.mark(length) };
    if (isEnd) return await takeRest(source, list, { place, checker, reader });
  }
  return undefined;
};

/** Takes what is around the elements. `place` is that of the closing bracket. */
const takeRest = async (
  source: Bytes,
  { head, path, start, line, end }: List,
  { place, checker, reader }: { readonly place: Position; readonly checker: Checker; readonly reader: JsonReader },
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
    return faultAt({ ...place, bytes: tail }, at - head.length, fault);
  }
  if (!isRequest) return undefined;
  // A request that has a key twice may have other groups.
  if (hasTwiceOf(root)) return "no-list";
  const before = new Places({ bytes: head, start, line });
  const after = new Places({ ...place, bytes: tail, unitsBefore: () => unitsBefore(source, place) });
  const places = {
    mark: (at: number) => before.mark(at),
    of: (at: number) => (at < head.length ? before.of(at) : after.of(at - head.length)),
  };
  checker.take({ text: root.text, start, places, reader }, root.node);
  return undefined;
};

/** Bytes before a fault, and after it, that tell what it is. */
const aroundBytes = 256;

/** Reads all of a list that is broken, so that its digest is known. A byte that is not UTF-8 is its first fault. */
const brokenAt = async (
  { bytes: source, name: file }: Pick<Source, "bytes" | "name">,
  { start, end, line: first }: List,
  { wrong: known, signal }: { readonly wrong: FaultPosition; readonly signal: AbortSignal | undefined },
): Promise<BrokenList> => {
  const hash = createHash("sha256");
  let checksum = 0;
  let line = first;
  let bad: FaultPosition | undefined;
  for (let at = start; at < end; ) {
    signal?.throwIfAborted();
    const read = await readRange(source, { start: at, length: Math.min(blockBytes, end - at) });
    const bytes = at + read.length < end ? read.subarray(0, endOfCharacters(read)) : read;
    hash.update(bytes);
    checksum = crc32(bytes, checksum);
    if (bad === undefined && !isUtf8(bytes)) bad = faultAt({ bytes, start: at, line }, firstBadByte(bytes), undefined);
    line = new Places({ bytes, start: at, line }).mark(bytes.length);
    at += bytes.length;
  }
  const wrong = bad ?? known;
  const from = Math.max(start, wrong.start - aroundBytes);
  const read = await readRange(source, { start: from, length: Math.min(end, wrong.start + aroundBytes) - from });
  // A text that begins with a key lacks its brace, and these bytes do not.
  const skipped = read[0] === quote && wrong.start > from ? 1 : 0;
  return {
    part: { start, line: first, length: end - start, checksum, digest: hash.digest() },
    spot: { file, line: wrong.line, column: unitsBefore(source, wrong) + 1, offset: wrong.start, path: [] },
    around: read.subarray(skipped),
    fault: wrong.fault && { fault: wrong.fault, at: wrong.start - from - skipped },
  };
};

/** The end of a piece of a text without its last character, which may continue in the next piece. */
const endOfCharacters = (bytes: Buffer): number => {
  let at = bytes.length - 1;
  while (at > bytes.length - 4 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return (bytes[at] ?? 0) >= 0xc0 ? at : bytes.length;
};
