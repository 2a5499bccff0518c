/** The picture itself: which mark stands in which cell, and the names that there is room for. */

import type { Glyphs, Paint } from "../screen/style.ts";
import { cut, widthOf } from "../screen/width.ts";
import type { Plot, PlotPoint, Tone } from "../view.ts";
import type { Scale } from "./scale.ts";

/** How it is drawn. */
export interface PlotLayout {
  readonly width: number;
  readonly height: number;
  readonly glyphs: Glyphs;
  readonly paint: Paint;
  /** Makes text from outside fit for one line. */
  readonly clean: (text: string) => string;
}

/** Where points may stand. */
export interface PlotArea {
  readonly columns: number;
  readonly rows: number;
  readonly x: Scale;
  readonly y: Scale;
  /** Whether a line for what is free stands below the others. */
  readonly hasFree: boolean;
}

/** The row, from the top, of a price. */
export const rowOf = ({ rows, y }: PlotArea, price: number): number => Math.round((1 - y.share(price)) * (rows - 1));

/** The column of a context; points keep off the axis and the edge. */
export const columnOf = ({ columns, x }: PlotArea, context: number): number =>
  1 + Math.round(x.share(context) * (columns - 3));

interface Grid {
  /** From the top; below what costs something an empty one and the one of what is free, where there is any. */
  readonly lines: readonly string[];
  /** The points of best value in the order of their letters. */
  readonly letters: ReadonlyMap<PlotPoint, string>;
  /** The marks that stand somewhere. */
  readonly drawn: ReadonlySet<string>;
}

interface Cell {
  readonly text: string;
  readonly tone: Tone | undefined;
}

type Cells = (Cell | undefined)[][];

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** A name in the picture is no longer than this: the key has it whole. */
const longestName = 28;

/** Draws the points. */
export const gridOf = (plot: Plot, area: PlotArea, layout: PlotLayout): Grid => {
  const cells: Cells = Array.from({ length: area.rows + (area.hasFree ? 2 : 0) }, () => []);
  const drawn = new Set<string>();
  for (const [place, points] of byPlace(plot.points, area)) {
    const [first] = points;
    const { points: marks, several } = layout.glyphs;
    const mark = points.length > 1 ? several : (marks[first?.series ?? 0] ?? several);
    put(cells, place, { text: mark, tone: undefined });
    if (!points.some(({ best }) => best)) drawn.add(mark);
  }
  const { letters, places } = lettered(plot, area);
  for (const [place, { letter }] of places) put(cells, place, { text: letter, tone: "good" });
  for (const [place, { name }] of places) label(cells, { place, name, area, layout });
  return { lines: cells.map((row) => lineOf(row, area, layout)), letters, drawn };
};

/** A cell's place: row and column. */
type Place = `${number}:${number}`;

const placeOf = ({ context, price }: PlotPoint, area: PlotArea): Place =>
  `${price === 0 ? area.rows + 1 : rowOf(area, price)}:${columnOf(area, context)}`;

const byPlace = (points: readonly PlotPoint[], area: PlotArea): ReadonlyMap<Place, readonly PlotPoint[]> => {
  const places = new Map<Place, PlotPoint[]>();
  for (const point of points) {
    const place = placeOf(point, area);
    const there = places.get(place);
    if (there === undefined) places.set(place, [point]);
    else there.push(point);
  }
  return places;
};

/** Letters from little context to much, then from cheap to dear; what stands in the same cell shares one. */
const lettered = ({ points }: Plot, area: PlotArea) => {
  const best = points.filter((point) => point.best).sort((a, b) => a.context - b.context || a.price - b.price);
  const letters = new Map<PlotPoint, string>();
  const places = new Map<Place, { readonly letter: string; readonly name: string }>();
  for (const point of best) {
    const place = placeOf(point, area);
    const letter = places.get(place)?.letter ?? alphabet[places.size];
    if (letter === undefined) break;
    letters.set(point, letter);
    if (!places.has(place)) places.set(place, { letter, name: shortName(point.name) });
  }
  return { letters, places };
};

/** A model's own name, without its maker's. */
const shortName = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

const put = (cells: Cells, place: Place, cell: Cell): void => {
  const [row = 0, column = 0] = place.split(":").map(Number);
  const line = cells[row];
  if (line !== undefined) line[column] = cell;
};

/** Writes a name beside its letter where nothing else stands, behind it or else before it. */
const label = (
  cells: Cells,
  { place, name, area, layout }: { place: Place; name: string; area: PlotArea; layout: PlotLayout },
): void => {
  const [row = 0, column = 0] = place.split(":").map(Number);
  const line = cells[row];
  const text = cut(layout.clean(name), longestName, layout.glyphs.cut);
  const width = widthOf(text);
  if (line === undefined || width === 0) return;
  for (const start of [column + 2, column - width - 1]) {
    const isFree = Array.from({ length: width + 2 }, (_, at) => start - 1 + at).every(
      (at) => at === column || line[at] === undefined,
    );
    if (start < 1 || start + width > area.columns || !isFree) continue;
    line[start] = { text, tone: "good" };
    for (let at = start + 1; at < start + width; at++) line[at] = { text: "", tone: undefined };
    return;
  }
};

const lineOf = (row: readonly (Cell | undefined)[], { columns }: PlotArea, { paint }: PlotLayout): string =>
  Array.from({ length: columns }, (_, at) => {
    const cell = row[at];
    return cell === undefined ? " " : paint(cell.tone, cell.text);
  })
    .join("")
    .trimEnd();
