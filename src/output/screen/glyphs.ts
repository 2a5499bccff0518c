/** The characters that frames and pictures are drawn with: those of Unicode, or of ASCII where a terminal has no others. */
import type { Host } from "../../host.ts";

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
  /** Points of a plot, by their kind, and where several stand in one place. */
  readonly points: readonly string[];
  readonly several: string;
  /** The axes of a plot: upward, a tick of it, a break in it, where both meet, across, a tick of that. */
  readonly axis: Readonly<Record<"up" | "left" | "gap" | "corner" | "across" | "down", string>>;
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
  points: ["○", "△"],
  several: "●",
  axis: { up: "│", left: "┤", gap: "┊", corner: "└", across: "─", down: "┬" },
  to: "–",
  spread: "±",
};

const ascii: Glyphs = {
  cut: "...",
  rail: "|",
  cells: ["#"],
  rest: ".",
  heights: ["_", ".", "-", "=", "+", "*", "%", "#"],
  points: ["o", "x"],
  several: "@",
  axis: { up: "|", left: "+", gap: ":", corner: "+", across: "-", down: "+" },
  to: "-",
  spread: "+-",
};

/** What a terminal can draw: where the locale names an encoding that is not UTF-8, or the terminal says that it is dumb, ASCII. */
export const glyphsOf = ({ env }: Pick<Host, "env">): Glyphs => {
  if (env.TERM === "dumb") return ascii;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return locale === "" || /utf-?8/i.test(locale) ? unicode : ascii;
};
