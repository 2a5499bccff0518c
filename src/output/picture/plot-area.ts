/** What a plot is made of, and where its points stand. */
import type { Glyphs, Paint } from "../screen/style.ts";
import type { Scale } from "./scale.ts";

/** What is drawn. */
export interface Plot {
  /** What it shows, in a sentence. */
  readonly title: string;
  /** Names of the axes, with their units. */
  readonly contextName: string;
  readonly priceName: string;
  /** What the notable points are. */
  readonly notableName: string;
  /** Names of the kinds of points, such as the catalogs that they are of. */
  readonly series: readonly string[];
  readonly points: readonly PlotPoint[];
}

/** A model. */
export interface PlotPoint {
  /** Its name, from outside. */
  readonly name: string;
  /** Its kind, by the position in `series`. */
  readonly series: number;
  /** Tokens, above zero. */
  readonly context: number;
  /** In the axis' unit; zero is free, and stands below the axis' numbers. */
  readonly price: number;
  /** The price in exact decimals. */
  readonly priceText: string;
  readonly notable: boolean;
}

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
