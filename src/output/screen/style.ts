/** How things look: colour that means something, and the characters that frames and pictures are drawn with. */
import type { Host } from "../../host.ts";
import type { Tone } from "../view.ts";
import type { ColorWhen } from "./options.ts";

/** Puts a colour on text, or leaves it as it is. */
export type Paint = (tone: Tone | undefined, text: string) => string;

/** No colour at all. */
export const plain: Paint = (_, text) => text;

/**
 * Whether a stream gets colour: `--color` or `--no-color` decide before all else, then `FORCE_COLOR`, then `NO_COLOR`,
 * then whether a terminal that has colours reads it.
 */
export const hasColor = ({
  host,
  stream,
  color,
}: {
  readonly host: Host;
  readonly stream: "stdout" | "stderr";
  readonly color: ColorWhen;
}): boolean => {
  if (color !== "auto") return color === "always";
  const { FORCE_COLOR: forced, NO_COLOR: no, TERM: term } = host.env;
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  if (no !== undefined && no !== "") return false;
  return host.terminal[stream] && term !== "dumb";
};

/** Loads the colours. Sixteen are enough, and every terminal's owner has chosen them. */
export const openPaint = async (wanted: boolean): Promise<Paint> => {
  if (!wanted) return plain;
  const { Chalk } = await import("chalk");
  const chalk = new Chalk({ level: 1 });
  const paints: Record<Tone, (text: string) => string> = {
    good: chalk.green,
    bad: chalk.red,
    warning: chalk.yellow,
    faint: chalk.dim,
    strong: chalk.bold,
  };
  return (tone, text) => (tone === undefined || text === "" ? text : paints[tone](text));
};

/** Characters to draw with. */
export interface Glyphs {
  /** What stands where text was left out. */
  readonly cut: string;
  /** The line beside a frame. */
  readonly rail: string;
  /** A full cell, then parts of one from nearly full to nearly empty. */
  readonly cells: readonly string[];
  /** The rest of a bar. */
  readonly rest: string;
  /** Heights from low to full. */
  readonly heights: readonly string[];
  /** A line across. */
  readonly across: string;
  /** Between the ends of a range, and between a mean and its spread. */
  readonly to: string;
  readonly spread: string;
}

const unicode: Glyphs = {
  cut: "…",
  rail: "│",
  cells: ["█", "▉", "▊", "▋", "▌", "▍", "▎", "▏"],
  rest: "░",
  heights: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
  across: "─",
  to: "–",
  spread: "±",
};

const ascii: Glyphs = {
  cut: "...",
  rail: "|",
  cells: ["#"],
  rest: ".",
  heights: ["_", ".", "-", "=", "+", "*", "%", "#"],
  across: "-",
  to: "-",
  spread: "+-",
};

/** What a terminal can draw: where the locale names an encoding that is not UTF-8, or the terminal says that it is dumb, ASCII. */
export const glyphsOf = ({ env }: Pick<Host, "env">): Glyphs => {
  if (env.TERM === "dumb") return ascii;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return locale === "" || /utf-?8/i.test(locale) ? unicode : ascii;
};
