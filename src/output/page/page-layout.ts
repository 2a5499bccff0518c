/** What a page is laid out for: a terminal, to whose width its lines are folded, or a pipe, which gets them whole. */
import type { Host } from "../../host.ts";
import { widthOfTerminal } from "../table/lists.ts";
import type { PageLayout } from "./page.ts";

/** Columns that a folded line keeps, however deep it is indented. */
const narrowest = 16;

/** How a page is laid out on whatever standard output is. */
export const pageLayout = async (host: Host): Promise<Pick<PageLayout, "fold" | "widthOf" | "width" | "rail">> => {
  const { glyphsOf } = await import("../screen/glyphs.ts");
  const { rail } = glyphsOf(host);
  if (!host.terminal.stdout) {
    return { fold: (line) => [line], widthOf: (line) => line.length, width: Number.POSITIVE_INFINITY, rail };
  }
  const { folded, widthOf } = await import("../screen/width.ts");
  const width = widthOfTerminal(host);
  return {
    fold: (line, indent, columns = width) =>
      folded(line.replaceAll("\t", "    "), Math.max(narrowest, columns - indent)),
    widthOf,
    width,
    rail,
  };
};
