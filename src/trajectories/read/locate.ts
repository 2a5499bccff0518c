/** Finds a value of a part again, for a person: back from the index to file, line and column. */
import { unitsBefore } from "../input/columns.ts";
import { readRange, type Source } from "../input/source.ts";
import { Locator, type Path, Places } from "../rules/places.ts";
import type { Spot } from "../rules/problems.ts";
import type { Part } from "./parts/columns.ts";

/** The place of the value at a path of a part, or of the deepest value on the way that is there. */
export const locate = async (
  { name, bytes: source, origin }: Source,
  { part, path }: { readonly part: Part; readonly path: Path },
): Promise<Spot> => {
  const { start, line } = part;
  if (origin !== undefined) return { ...(await origin.spotOf(line, path)), readAt: `${name}:${line}`, readPath: path };
  const bytes = await readRange(source, part);
  const places = new Places({ bytes, start, line, unitsBefore: () => unitsBefore(source, part) });
  return { file: name, ...places.of(new Locator(bytes, 0).startOf(path)), path };
};
