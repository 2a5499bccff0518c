/** How things look: color that means something, and the characters that frames and pictures are drawn with. */
import type { Host } from "../host.ts";
import type { ColorMode } from "./screen.ts";
import type { Tone } from "./views.ts";

/** Puts a color on text, or leaves it as it is. */
export type Paint = (tone: Tone | undefined, text: string) => string;

export const plainPaint: Paint = (_, text) => text;

/** True if a stream gets color: `--color` decides, then `FORCE_COLOR`, then `NO_COLOR`, then whether a terminal reads it. */
export const hasColor = ({ env, terminal }: Host, stream: "stdout" | "stderr", color: ColorMode): boolean => {
  if (color !== "auto") return color === "always";
  const { FORCE_COLOR: forced = "", NO_COLOR: no = "", TERM: term } = env;
  if (forced !== "") return forced !== "0" && forced !== "false";
  return no === "" && terminal[stream] && term !== "dumb";
};

/** Loads the colors. Sixteen are enough, and every terminal's owner has chosen them. */
export const loadPaint = async (wanted: boolean): Promise<Paint> => {
  if (!wanted) return plainPaint;
  const { Chalk } = await import("chalk");
  const { green, red, yellow, dim, bold } = new Chalk({ level: 1 });
  const paints = { good: green, bad: red, warning: yellow, faint: dim, strong: bold };
  return (tone, text) => (tone === undefined || text === "" ? text : paints[tone](text));
};

export interface Glyphs {
  /** In place of text that was left out. */
  readonly ellipsis: string;
  /** The line next to a frame. */
  readonly rail: string;
  /** A full cell, then parts of one from nearly full to nearly empty. */
  readonly cells: string;
  /** The rest of a bar. */
  readonly emptyCell: string;
  /** Heights from low to full. */
  readonly heights: string;
  readonly horizontal: string;
  /** Between the ends of a range, and between a mean and its spread. */
  readonly rangeDash: string;
  readonly plusMinus: string;
}

const unicode: Glyphs = {
  ellipsis: "…",
  rail: "│",
  cells: "█▉▊▋▌▍▎▏",
  emptyCell: "░",
  heights: "▁▂▃▄▅▆▇█",
  horizontal: "─",
  rangeDash: "–",
  plusMinus: "±",
};

const ascii: Glyphs = {
  ellipsis: "...",
  rail: "|",
  cells: "#",
  emptyCell: ".",
  heights: "_.-=+*%#",
  horizontal: "-",
  rangeDash: "-",
  plusMinus: "+-",
};

/** What a terminal can draw: ASCII if it says that it is dumb, or the locale names an encoding that is not UTF-8. */
export const selectGlyphs = ({ env }: Pick<Host, "env">): Glyphs => {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return env.TERM === "dumb" || (locale !== "" && !/utf-?8/i.test(locale)) ? ascii : unicode;
};
