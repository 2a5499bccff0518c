/** Colors. */
import type { Host } from "../host.ts";
import type { ColorMode } from "./screen.ts";
import type { Tone } from "./views.ts";

export type Paint = (tone: Tone | undefined, text: string) => string;

export const plainPaint: Paint = (_, text) => text;

/** True if a stream gets color: by `--color`, then `FORCE_COLOR`, then `NO_COLOR`. Default: on a terminal. */
export const hasColor = ({ env, terminal }: Host, stream: "stdout" | "stderr", color: ColorMode): boolean => {
  if (color !== "auto") return color === "always";
  const { FORCE_COLOR: forced = "", NO_COLOR: no = "", TERM: term } = env;
  if (forced !== "") return forced !== "0" && forced !== "false";
  return no === "" && terminal[stream] && term !== "dumb";
};

/** Loads the 16 basic colors, which every terminal supports and users can configure. */
export const loadPaint = async (hasColor: boolean): Promise<Paint> => {
  if (!hasColor) return plainPaint;
  const { Chalk } = await import("chalk");
  const { green, red, yellow, dim, bold } = new Chalk({ level: 1 });
  const paints = { good: green, bad: red, warning: yellow, faint: dim, strong: bold };
  return (tone, text) => (tone === undefined || text === "" ? text : paints[tone](text));
};
