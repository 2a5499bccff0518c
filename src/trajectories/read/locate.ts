/** Finds a value of a part again, for a person: back from the index to file, line and column. */
import { newline } from "../../json/walk.ts";
import type { Bytes, Source } from "../input/source.ts";
import { readRange } from "../input/source.ts";
import { Locator, type Path, Places } from "../rules/places.ts";
import type { Spot } from "../rules/problems.ts";
import type { Part } from "./parts/columns.ts";

/** Bytes read at once when the start of a line is looked for. */
const stepBytes = 2 ** 16;

/** How far the columns of a line were counted: UTF-16 units from the line's start to a byte. */
interface Counted {
  readonly line: number;
  readonly at: number;
  readonly units: number;
}

/** Of each source, the part that was located last: a line may hold a million of them, and is counted once. */
const countedOf = new WeakMap<Bytes, Counted>();

/** The place of the value at a path of a part, or of the deepest value on the way that is there. */
export const locate = async (
  { name, bytes: source }: Source,
  { part, path }: { readonly part: Part; readonly path: Path },
): Promise<Spot> => {
  const last = countedOf.get(source);
  const goesOn = last !== undefined && last.line === part.line && last.at <= part.start;
  const from = goesOn ? last : { at: await lineStart(source, part.start), units: 0 };
  const units = from.units + (await unitsIn(source, from.at, part.start));
  countedOf.set(source, { line: part.line, at: part.start, units });
  const bytes = await readRange(source, part);
  const at = new Locator(bytes, 0).startOf(path);
  const { line, column } = new Places({ bytes, start: part.start, line: part.line }).of(at);
  const offset = part.start + at;
  return { file: name, line, column: line === part.line ? column + units : column, path, offset };
};

/** Offset of the first byte of the line that a byte stands in, behind a byte order mark. */
const lineStart = async (source: Bytes, at: number): Promise<number> => {
  for (let from = at; from > 0; ) {
    const length = Math.min(stepBytes, from);
    const bytes = await readRange(source, { start: from - length, length });
    const end = bytes.lastIndexOf(newline);
    if (end >= 0) return from - length + end + 1;
    from -= length;
  }
  if (at < 3) return 0;
  const head = await readRange(source, { start: 0, length: 3 });
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
};

/** UTF-16 units of the text between two bytes: one for each character, two where it takes four bytes. */
const unitsIn = async (source: Bytes, from: number, to: number): Promise<number> => {
  let units = 0;
  for (let at = from; at < to; at += stepBytes) {
    const bytes = await readRange(source, { start: at, length: Math.min(stepBytes, to - at) });
    for (const byte of bytes) {
      if (byte < 0x80 || byte >= 0xc0) units += byte >= 0xf0 ? 2 : 1;
    }
  }
  return units;
};
