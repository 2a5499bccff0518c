/** How things look: color that means something, and the characters that frames and pictures are drawn with. */
import type { Host } from "../host.ts";
import type { ColorWhen } from "./screen.ts";
import type { Tone } from "./view.ts";

/** Puts a color on text, or leaves it as it is. */
export type Paint = (tone: Tone | undefined, text: string) => string;

export const plain: Paint = (_, text) => text;

/** True if a stream gets color: `--color` decides, then `FORCE_COLOR`, then `NO_COLOR`, then whether a terminal reads it. */
export const hasColor = ({ env, terminal }: Host, stream: "stdout" | "stderr", color: ColorWhen): boolean => {
  if (color !== "auto") return color === "always";
  const { FORCE_COLOR: forced = "", NO_COLOR: no = "", TERM: term } = env;
  if (forced !== "") return forced !== "0" && forced !== "false";
  return no === "" && terminal[stream] && term !== "dumb";
};

/** Loads the colors. Sixteen are enough, and every terminal's owner has chosen them. */
export const openPaint = async (wanted: boolean): Promise<Paint> => {
  if (!wanted) return plain;
  const { Chalk } = await import("chalk");
  const { green, red, yellow, dim, bold } = new Chalk({ level: 1 });
  const paints = { good: green, bad: red, warning: yellow, faint: dim, strong: bold };
  return (tone, text) => (tone === undefined || text === "" ? text : paints[tone](text));
};

export interface Glyphs {
  /** In place of text that was left out. */
  readonly cut: string;
  /** The line next to a frame. */
  readonly rail: string;
  /** A full cell, then parts of one from nearly full to nearly empty. */
  readonly cells: string;
  /** The rest of a bar. */
  readonly rest: string;
  /** Heights from low to full. */
  readonly heights: string;
  readonly across: string;
  /** Between the ends of a range, and between a mean and its spread. */
  readonly to: string;
  readonly spread: string;
}

const unicode: Glyphs = {
  cut: "…",
  rail: "│",
  cells: "█▉▊▋▌▍▎▏",
  rest: "░",
  heights: "▁▂▃▄▅▆▇█",
  across: "─",
  to: "–",
  spread: "±",
};

const ascii: Glyphs = {
  cut: "...",
  rail: "|",
  cells: "#",
  rest: ".",
  heights: "_.-=+*%#",
  across: "-",
  to: "-",
  spread: "+-",
};

/** What a terminal can draw: ASCII if it says that it is dumb, or the locale names an encoding that is not UTF-8. */
export const glyphsOf = ({ env }: Pick<Host, "env">): Glyphs => {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return env.TERM === "dumb" || (locale !== "" && !/utf-?8/i.test(locale)) ? ascii : unicode;
};
