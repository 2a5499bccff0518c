/** Draws models by their price and their context for a terminal: two logarithmic axes, a letter for each of best value, and a key. */
import type { Screen } from "../screen/screen.ts";
import { glyphsOf } from "../screen/style.ts";
import { cut, folded, widthOf } from "../screen/width.ts";
import type { Plot, PlotPoint } from "../view.ts";
import { columnOf, gridOf, type PlotArea, type PlotLayout, rowOf } from "./plot-grid.ts";
import { bestValue, contextName, priceLabel, priceTicks, scaleOf, tokenLabel, tokenTicks } from "./scale.ts";

/** Fewer columns than this show no picture: only the key is printed. */
const narrowest = 36;

/** Columns between two ticks of the axis of context. */
const tickColumns = 8;

/** Columns of a plot where nobody says how many there are. */
const usualColumns = 100;

/** Draws a plot on a terminal, or, where a table was asked for, as wide as one is elsewhere. */
export const printPlot = async (screen: Screen, plot: Plot): Promise<void> => {
  const { host, width, safe } = screen;
  const size = plotSize({ width, rows: host.terminal.rows });
  const layout = { glyphs: glyphsOf(host), paint: await screen.paint(), clean: safe.line, ...size };
  const drawn = plotLines(plot, layout);
  if (drawn.length > 0) await screen.print([`${drawn.join("\n")}\n`], { kind: "lines" });
};

/** A plot is about a fourth as high as it is wide, and leaves room for the axes and the key. */
const plotSize = (terminal: {
  readonly width: number;
  readonly rows: number;
}): Pick<PlotLayout, "width" | "height"> => {
  const width = Number.isFinite(terminal.width) ? terminal.width : usualColumns;
  const room = Math.max(10, Math.round(terminal.rows * 0.6));
  return { width, height: Math.min(Math.max(10, Math.round(width / 5)), 24, room) };
};

/** The lines of the picture and its key; none where there is no point. */
const plotLines = (plot: Plot, layout: PlotLayout): readonly string[] => {
  const { paint, width } = layout;
  if (plot.points.length === 0) return [];
  const y = scaleOf(plot.points.flatMap(({ price }) => (price > 0 ? [price] : [])));
  const ticks = priceTicks(y, Math.max(2, Math.floor(layout.height / 2))).map((value) => ({
    value,
    label: priceLabel(value),
  }));
  const hasFree = plot.points.some(({ price }) => price === 0);
  const gutter = Math.max(...ticks.map(({ label }) => label.length), hasFree ? "free".length : 1) + 1;
  const area: PlotArea = {
    columns: width - gutter - 1,
    rows: layout.height,
    x: scaleOf(plot.points.map(({ context }) => context)),
    y,
    hasFree,
  };
  const grid = gridOf(plot, area, layout);
  const title = paint("strong", cut(plot.title, width, layout.glyphs.cut));
  if (width < narrowest) return [title, ...keyLines(plot, grid.letters, layout)];
  return [
    title,
    "",
    paint("faint", cut(plot.priceName, width, layout.glyphs.cut)),
    ...framed(grid.lines, { area, gutter, ticks, layout }),
    ...contextAxis({ area, gutter, layout }),
    "",
    ...legend(plot, grid, layout),
    ...keyLines(plot, grid.letters, layout),
  ];
};

interface Frame {
  readonly area: PlotArea;
  readonly gutter: number;
  readonly layout: PlotLayout;
}

const framed = (
  lines: readonly string[],
  {
    area,
    gutter,
    ticks,
    layout,
  }: Frame & { readonly ticks: readonly { readonly value: number; readonly label: string }[] },
): readonly string[] => {
  const { glyphs, paint } = layout;
  const labels = new Map<number, string>();
  for (const { value, label } of ticks) labels.set(rowOf(area, value), label);
  if (area.hasFree) labels.set(area.rows + 1, "free");
  return lines.map((line, row) => {
    const label = labels.get(row);
    const isGap = area.hasFree && row === area.rows;
    const axis = label !== undefined ? glyphs.axis.left : isGap ? glyphs.axis.gap : glyphs.axis.up;
    return `${paint("faint", `${(label ?? "").padStart(gutter - 1)} ${axis}`)}${line}`.trimEnd();
  });
};

const contextAxis = ({ area, gutter, layout }: Frame): readonly string[] => {
  const { glyphs, paint } = layout;
  const ticks = tokenTicks(area.x, Math.max(2, Math.floor(area.columns / tickColumns)));
  const line = Array.from({ length: area.columns }, () => glyphs.axis.across);
  let numbers = "";
  for (const tick of ticks) {
    const column = columnOf(area, tick);
    const label = tokenLabel(tick);
    const start = Math.min(Math.max(0, column - Math.floor(label.length / 2)), area.columns - label.length);
    line[column] = glyphs.axis.down;
    if (start > numbers.length || start === 0) numbers = numbers.padEnd(start) + label;
  }
  const blank = " ".repeat(gutter);
  const name = contextName.padStart(area.columns);
  return [`${blank}${glyphs.axis.corner}${line.join("")}`, `${blank} ${numbers}`, `${blank} ${name}`].map((one) =>
    paint("faint", one),
  );
};

const legend = (
  { series }: Plot,
  { drawn }: ReturnType<typeof gridOf>,
  { glyphs, paint, width }: PlotLayout,
): readonly string[] => {
  const marks = series.flatMap((name, at) => {
    const mark = glyphs.points[at] ?? glyphs.several;
    return drawn.has(mark) ? [`${mark} ${name}`] : [];
  });
  const several = drawn.has(glyphs.several) ? [`${glyphs.several} several`] : [];
  const lines: string[] = [];
  for (const text of [...marks, ...several, `a, b, ${glyphs.cut} ${bestValue}`]) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + text.length + 3 <= width) lines.splice(-1, 1, `${line}   ${text}`);
    else lines.push(text);
  }
  return lines.flatMap((line) => folded(line, width)).map((line) => paint("faint", line));
};

/** Models that are named of each letter: there may be many that are alike. */
const mostOfLetter = 4;

/** What each letter stands for: name, context and price, one model a line. */
const keyLines = (
  { series }: Plot,
  letters: ReadonlyMap<PlotPoint, string>,
  { width, clean, paint, glyphs }: PlotLayout,
): readonly string[] => {
  const counts = new Map<string, number>();
  const named = [...letters].filter(([, letter]) => {
    counts.set(letter, (counts.get(letter) ?? 0) + 1);
    return (counts.get(letter) ?? 0) <= mostOfLetter;
  });
  const rows = named.map(([{ name, context, price, priceText, series: of }, letter]) => ({
    letter,
    name: clean(name),
    context: String(context),
    price: price === 0 ? "free" : `$${priceText}`,
    series: series.length > 1 ? `  ${series[of] ?? ""}` : "",
  }));
  const [context, price, tail] = [
    Math.max(...rows.map((row) => row.context.length)),
    Math.max(...rows.map((row) => row.price.length)),
    Math.max(...rows.map((row) => row.series.length)),
  ];
  const longest = Math.max(...rows.map((row) => widthOf(row.name)));
  const room = Math.max(8, Math.min(longest, width - context - price - tail - 7));
  return rows.flatMap((row, at) => {
    const name = cut(row.name, room, glyphs.cut);
    const blank = " ".repeat(room - widthOf(name));
    const text = `  ${name}${blank}  ${row.context.padStart(context)}  ${row.price.padStart(price)}${row.series}`;
    const line = `${paint("good", row.letter)}${cut(text, width - 1, glyphs.cut)}`.trimEnd();
    const more = row.letter === rows[at + 1]?.letter ? 0 : (counts.get(row.letter) ?? 0) - mostOfLetter;
    return more > 0 ? [line, cut(`   and ${more} more`, width, glyphs.cut)] : [line];
  });
};
