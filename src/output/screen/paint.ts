/** Colour that means something, and when there is any. */
import type { Host } from "../../host.ts";
import type { Tone } from "../view.ts";

/** Puts a colour on text, or leaves it as it is. */
export type Paint = (tone: Tone | undefined, text: string) => string;

/** No colour at all. */
export const plain: Paint = (_, text) => text;

/**
 * Whether a stream gets colour: `--no-color` says no before all else, then `FORCE_COLOR` decides, then `NO_COLOR`,
 * then whether a terminal that has colours reads it.
 */
export const hasColor = ({
  host,
  stream,
  color,
}: {
  readonly host: Host;
  readonly stream: "stdout" | "stderr";
  readonly color: boolean;
}): boolean => {
  if (!color) return false;
  const { FORCE_COLOR: forced, NO_COLOR: no, TERM: term } = host.env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
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
