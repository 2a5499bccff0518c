/** Finds a value of a part again, for a person: back from the index to file, line and column. */
import { newline } from "../../json/walk.ts";
import type { Source } from "../input/source.ts";
import { readRange } from "../input/source.ts";
import { Locator, type Path, Places } from "../rules/places.ts";
import type { Spot } from "../rules/problems.ts";
import type { Part } from "./parts/columns.ts";

/** Bytes read at once when the start of a line is looked for. */
const stepBytes = 2 ** 16;

/** The place of the value at a path of a part, or of the deepest value on the way that is there. */
export const locate = async (
  { name, bytes: source }: Source,
  { part, path }: { readonly part: Part; readonly path: Path },
): Promise<Spot> => {
  let start = part.start;
  for (let from = part.start; from > 0; ) {
    const length = Math.min(stepBytes, from);
    const bytes = await readRange(source, { start: from - length, length });
    const at = bytes.lastIndexOf(newline);
    start = at < 0 ? from - length : from - length + at + 1;
    if (at >= 0) break;
    from -= length;
  }
  if (start === 0 && part.start >= 3) {
    const head = await readRange(source, { start: 0, length: 3 });
    if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) start = 3;
  }
  const bytes = await readRange(source, { start, length: part.start - start + part.length });
  const at = new Locator(bytes, part.start - start).startOf(path);
  return { file: name, ...new Places({ bytes, start, line: part.line }).of(at), path, offset: start + at };
};
