/** Takes texts that are longer than a block, and are an array or a request, element by element. */
import { isUtf8 } from "node:buffer";
import { mergeFound, nothingFound, packFound } from "../groups/parts/found.ts";
import {
  type Bytes,
  elementsOf,
  type Position,
  type Range,
  readRange,
  type Source,
  unitsBefore,
} from "../input/index.ts";
import { JsonReader } from "../json/reader.ts";
import { afterOf, rootOf } from "../json/table.ts";
import { closeBrace, openBrace, openBracket, Walker } from "../json/walk.ts";
import { Checker, hasTwiceOf, keyUses } from "./checker.ts";
import { type Path, Places } from "./rules/places.ts";
import type { ScanOptions } from "./scan.ts";

/** The most bytes that are read at once: V8's strings end at 2^29 − 24 units (512 MiB). */
export const maxTextBytes = 2 ** 29 - 24;

/**
 * Takes a long text if it is a list; false if it has to be read as a whole, such as one that is not JSON. Only the elements
 * that are being read are in memory. Of a text that is not taken, nothing is added to what was found.
 * @throws Shrunk; the signal's reason
 */
export const takeList = async (
  { bytes, name: file }: Source,
  text: Range & Position,
  { found: before, index, groupBy, signal }: ScanOptions,
): Promise<boolean> => {
  const list = await listIn(bytes, text);
  if (list === undefined) return false;
  const { problems, parts } = before;
  const found = nothingFound(problems.judgement, { enough: problems.enough, isMarked: parts.isMarked });
  const checker = new Checker({ index, groupBy, found, file });
  if (!(await takeElements(bytes, list, { checker, signal }))) return false;
  // The groups of a request are no shape of the input.
  if (list.path.length > 0) found.shapes.delete("groups");
  mergeFound(before, packFound(found));
  return true;
};

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
  const list = (path: Path): List => ({
    head: look.subarray(from, walker.at + 1),
    path,
    start: start + from,
    line: new Places({ bytes: look, start, line }).mark(from),
    end,
  });
  if (look[from] === openBracket) return list([]);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (look[walker.at] === openBracket && key === "trajectory_groups") return list([key]);
    walker.skip();
  }
  return undefined;
};

/** Takes the elements of a list, and what is around them; false if that is not JSON, or not UTF-8. */
const takeElements = async (
  source: Bytes,
  list: List,
  { checker, signal }: { readonly checker: Checker } & Pick<ScanOptions, "signal">,
): Promise<boolean> => {
  const { head, start, end, path } = list;
  const reader = new JsonReader(keyUses);
  const line = new Places({ bytes: head, start, line: list.line }).mark(head.length);
  const range = { start: start + head.length, end, line };
  let count = 0;
  for await (const part of elementsOf(source, range, { reader, isTolerant: false, signal })) {
    const { text, length, fault, isEnd, places } = part;
    if (fault !== undefined || !isUtf8(text.bytes.subarray(0, length))) return false;
    const block = { text, reader, start: part.start, places };
    for (let node = 0; node < text.words.length; node = afterOf(text, node)) {
      checker.takeElement(block, node, { path: [...path, count++], isGroup: path.length > 0 });
    }
    const place = { start: part.start + length, line: places.mark(length) };
    if (isEnd) return await takeRest(source, list, { place, checker, reader });
  }
  return false;
};

/** Takes what is around the elements. `place` is that of the closing bracket. */
const takeRest = async (
  source: Bytes,
  { head, path, start, line, end }: List,
  { place, checker, reader }: { readonly place: Position; readonly checker: Checker; readonly reader: JsonReader },
): Promise<boolean> => {
  const length = end - place.start;
  if (length > maxTextBytes) return false;
  const tail = await readRange(source, { start: place.start, length });
  const around = Buffer.concat([head, tail]);
  const root = rootOf(around);
  // A request that has a key twice may have other groups.
  if (root === undefined || !isUtf8(around) || hasTwiceOf(root)) return false;
  if (path.length === 0) return true;
  const before = new Places({ bytes: head, start, line });
  const after = new Places({ ...place, bytes: tail, unitsBefore: () => unitsBefore(source, place) });
  const places = {
    mark: (at: number) => before.mark(at),
    of: (at: number) => (at < head.length ? before.of(at) : after.of(at - head.length)),
  };
  checker.take({ text: root.text, start, places, reader }, root.node);
  return true;
};
