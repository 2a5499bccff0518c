/** Takes lists that are longer than a block, element by element: an array, or the groups of a request. */
import { isUtf8 } from "node:buffer";
import { type Found, mergeFound, nothingFound, packFound } from "../groups/parts/found.ts";
import { type Bytes, blockBytes, type Range, readRange, Shrunk, type Source, unitsBefore } from "../input/index.ts";
import { JsonReader } from "../json/reader.ts";
import { afterOf, memberAt, rootOf } from "../json/table.ts";
import { closeBrace, openBrace, openBracket, Walker } from "../json/walk.ts";
import { Checker, hasTwiceOf, leafKeys } from "./checker.ts";
import { maxTextBytes } from "./faults.ts";
import type { LongText } from "./long-fault.ts";
import type { Judgement } from "./rules/judgement.ts";
import { type Path, Places } from "./rules/places.ts";

/** How a list is taken. */
interface ListOptions {
  /** Position of its source among the inputs. */
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  readonly signal?: AbortSignal;
  readonly found: Found;
}

/**
 * Takes a text that is a list, or a request, element by element. Nothing of it was taken where it is neither
 * (`no-list`), or can't be read so (`broken`). @throws Shrunk; the signal's reason
 */
export const takeList = async (
  source: Source,
  text: LongText,
  options: ListOptions,
): Promise<"taken" | "no-list" | "broken"> => {
  const list = await listIn(source.bytes, text);
  if (list === undefined) return "no-list";
  const { found: before, judgement } = options;
  const found = nothingFound(judgement, { enough: before.problems.enough, isMarked: before.parts.isMarked });
  const isTaken = await takeElements(source, text, { ...options, list, found });
  if (isTaken) mergeFound(before, packFound(found));
  return isTaken ? "taken" : "broken";
};

/** A list that is taken element by element. */
interface List {
  /** The text up to it, its bracket included. */
  readonly head: Buffer;
  /** Its path in the text: the groups of a request, or all of it. */
  readonly path: Path;
}

/** Bytes of a text in which the list of its groups begins: other keys take less. */
const lookBytes = 2 ** 16;

const listIn = async (source: Bytes, { start, end }: Range): Promise<List | undefined> => {
  const look = await readRange(source, { start, length: Math.min(lookBytes, end - start) });
  const walker = new Walker(look);
  const list = (path: Path): List => ({ head: look.subarray(0, walker.at + 1), path });
  if (look[walker.at] === openBracket) return list([]);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (look[walker.at] === openBracket && key === "trajectory_groups") return list([key]);
    walker.skip();
  }
  return undefined;
};

/** Takes all of a text; false if it is not JSON, or has a key twice. */
const takeElements = async (
  source: Source,
  { start, end, line: firstLine }: LongText,
  { list: { head, path }, found, signal, ...options }: ListOptions & { readonly list: List },
): Promise<boolean> => {
  const { bytes } = source;
  const reader = new JsonReader(leafKeys);
  const checker = new Checker({ ...options, found, file: source.name, reader: () => reader });
  const isRequest = path.length > 0;
  let line = new Places({ bytes: head, start, line: firstLine }).mark(head.length);
  let base = start + head.length;
  let [filled, size, count] = [0, blockBytes, 0];
  reader.beginElements();
  for (let isEnd = false; !isEnd; ) {
    signal?.throwIfAborted();
    const wanted = Math.min(size, end - base);
    const read = await bytes.read(reader.room(wanted).subarray(filled), base + filled);
    if (read === 0 && filled < wanted) throw new Shrunk();
    filled += read;
    const passed = reader.readElements(reader.room(filled), base + filled === end);
    if (passed === undefined) return false;
    const text = reader.tabled();
    if (!isUtf8(text.bytes.subarray(0, passed.length))) return false;
    const place = { start: base, line };
    const places = new Places({ ...place, bytes: text.bytes, unitsBefore: () => unitsBefore(bytes, place) });
    for (let node = 0; node < text.words.length; node = afterOf(text, node)) {
      checker.takeElement({ text, start: base, places }, node, { path: [...path, count++], isGroup: isRequest });
    }
    line = places.mark(passed.length);
    text.bytes.copyWithin(0, passed.length, filled);
    base += passed.length;
    filled -= passed.length;
    isEnd = passed.isEnd;
    // An element that is longer than a block.
    size = passed.length === 0 ? 2 * size : blockBytes;
  }
  if (end - base > maxTextBytes) return false;
  return await takeRest(
    source,
    { head: { bytes: head, start, line: firstLine }, isRequest, checker, found },
    { start: base, end, line },
  );
};

/** Takes what is around the elements. */
const takeRest = async (
  { bytes: source }: Source,
  {
    head,
    isRequest,
    checker,
    found,
  }: {
    readonly head: { readonly bytes: Buffer; readonly start: number; readonly line: number };
    readonly isRequest: boolean;
    readonly checker: Checker;
    readonly found: Found;
  },
  { end, ...place }: LongText,
): Promise<boolean> => {
  const tail = await readRange(source, { start: place.start, length: end - place.start });
  const around = Buffer.concat([head.bytes, tail]);
  const root = isUtf8(around) ? rootOf(around) : undefined;
  if (root === undefined || (isRequest && hasTwiceOf(root))) return false;
  if (!isRequest || memberAt(root, "trajectory_groups") === undefined) return true;
  const before = new Places(head);
  const behind = new Places({ ...place, bytes: tail, unitsBefore: () => unitsBefore(source, place) });
  const length = head.bytes.length;
  const places = {
    mark: (at: number) => before.mark(at),
    of: (at: number) => (at < length ? before.of(at) : behind.of(at - length)),
  };
  checker.take({ text: root.text, start: head.start, places }, root.node);
  // What its groups are is no shape of the input.
  found.shapes.delete("groups");
  return true;
};
