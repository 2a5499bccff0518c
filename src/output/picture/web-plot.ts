/** Draws models by their price and their context for a web page: an inline SVG. */
import type { Plot, PlotPoint } from "../view.ts";
import { contextName, priceLabel, priceTicks, scaleOf, tokenLabel, tokenTicks } from "./scale.ts";

/** Units of the picture, which a page shows as wide as it is. */
const size = { width: 1080, height: 460 };
const margin = { left: 70, right: 24, top: 34, bottom: 54 };

/** Between the lowest price and what is free. */
const freeGap = 34;

const most = { context: 12, price: 9 };

const radius = 5;

/** Names that are written into the picture: more of them would stand on one another. */
const mostNames = 16;

interface Places {
  readonly x: (context: number) => number;
  readonly y: (price: number) => number;
  readonly bottom: number;
}

/** The picture. `rowOf` gives the row of the table that each point belongs to, by its position. */
export const plotSvg = (plot: Plot, rowOf: readonly number[], clean: (text: string) => string): string => {
  const { points } = plot;
  const [x, y] = [scaleOf(points.map(({ context }) => context)), scaleOf(paidPrices(points))];
  const hasFree = points.some(({ price }) => price === 0);
  const bottom = size.height - margin.bottom;
  const lowest = bottom - (hasFree ? freeGap : 0) - 12;
  const inner = { left: margin.left + 16, right: size.width - margin.right - 16 };
  const places: Places = {
    x: (context) => round(inner.left + x.share(context) * (inner.right - inner.left)),
    y: (price) => (price === 0 ? bottom - 12 : round(lowest - y.share(price) * (lowest - margin.top - 12))),
    bottom,
  };
  const label = `${plot.title}. ${contextName} to the right, ${plot.priceName} upward. The table below has the same models.`;
  const numbered = points.map((point, at) => ({ point, row: rowOf[at] ?? at }));
  // What is drawn last stands in front.
  const ordered = [...numbered].sort((a, b) => Number(a.point.best) - Number(b.point.best));
  return [
    `<svg${attributes({ viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": label })}>`,
    ...priceTicks(y, most.price).map((tick) => acrossLine(places.y(tick), priceLabel(tick))),
    ...(hasFree ? [acrossLine(places.y(0), "free")] : []),
    ...tokenTicks(x, most.context).map((tick) => upLine(places.x(tick), tokenLabel(tick), places)),
    `<text${attributes({ x: 12, y: 20 })}>${escaped(plot.priceName)}</text>`,
    `<text${attributes({ x: size.width - margin.right, y: size.height - 12, "text-anchor": "end" })}>${escaped(contextName)}</text>`,
    bestSteps(points, places),
    ...ordered.map(({ point, row }) => mark(point, { row, places, clean })),
    ...nameTexts(numbered, places, clean),
    "</svg>",
  ].join("\n");
};

const paidPrices = (points: readonly PlotPoint[]): readonly number[] =>
  points.flatMap(({ price }) => (price > 0 ? [price] : []));

/** A tenth of a unit is less than anybody sees. */
const round = (value: number): number => Math.round(value * 10) / 10;

const acrossLine = (y: number, label: string): string =>
  `<path class="grid"${attributes({ d: `M${margin.left} ${y}H${size.width - margin.right}` })}/>` +
  `<text${attributes({ x: margin.left - 10, y: y + 4, "text-anchor": "end" })}>${escaped(label)}</text>`;

const upLine = (x: number, label: string, { bottom }: Places): string =>
  `<path class="grid"${attributes({ d: `M${x} ${margin.top}V${bottom}` })}/>` +
  `<text${attributes({ x, y: bottom + 18, "text-anchor": "middle" })}>${escaped(label)}</text>`;

/** Steps through the models of best value: for more context than one takes, the price is that of the next. */
const bestSteps = (points: readonly PlotPoint[], { x, y }: Places): string => {
  const all = points.filter(({ best, price }) => best && price > 0).sort((a, b) => a.context - b.context);
  if (all.length < 2) return "";
  const steps = all.map(({ context, price }, at) =>
    at === 0 ? `M${x(context)} ${y(price)}` : `V${y(price)}H${x(context)}`,
  );
  return `<path class="steps"${attributes({ d: steps.join("") })}/>`;
};

/** A mark of its kind: a circle, or a square turned on its tip. */
const mark = (
  point: PlotPoint,
  { row, places, clean }: { row: number; places: Places; clean: (text: string) => string },
): string => {
  const { series, best, context, price, priceText, name } = point;
  const [x, y] = [places.x(context), places.y(price)];
  const said = `${clean(name)}: ${context} tokens, ${price === 0 ? "free" : `$${priceText} per million`}`;
  const common = {
    class: ["point", ...(series === 0 ? [] : ["second"]), ...(best ? ["best"] : [])].join(" "),
    "data-row": row,
  };
  return `${shape(series, { x, y, common })}<title>${escaped(said)}</title></${series === 0 ? "circle" : "path"}>`;
};

const shape = (series: number, about: { x: number; y: number; common: Parameters<typeof attributes>[0] }): string => {
  const { x, y, common } = about;
  if (series === 0) return `<circle${attributes({ ...common, cx: x, cy: y, r: radius })}>`;
  const tip = radius + 1.5;
  return `<path${attributes({ ...common, d: `M${x} ${round(y - tip)}l${tip} ${tip}l${-tip} ${tip}l${-tip} ${-tip}z` })}>`;
};

/** A mark by itself, for a legend. */
export const legendMark = (series: number, { best }: { readonly best: boolean }): string => {
  const common = { class: ["point", ...(series === 0 ? [] : ["second"]), ...(best ? ["best"] : [])].join(" ") };
  const drawn = shape(series, { x: 8, y: 8, common });
  return `<svg${attributes({ viewBox: "0 0 16 16", "aria-hidden": "true" })}>${drawn.slice(0, -1)}/></svg>`;
};

/** Names of those of best value, each above its mark, or below it where another name is too near. */
const nameTexts = (
  numbered: readonly { readonly point: PlotPoint; readonly row: number }[],
  { x, y }: Places,
  clean: (text: string) => string,
): readonly string[] => {
  const taken: { readonly left: number; readonly right: number; readonly y: number }[] = [];
  const best = numbered.filter(({ point }) => point.best).slice(0, mostNames);
  return best.flatMap(({ point, row }) => {
    const name = shortName(clean(point.name));
    const [width, at] = [name.length * 7, x(point.context)];
    const anchor =
      at + width / 2 > size.width - margin.right ? "end" : at - width / 2 < margin.left ? "start" : "middle";
    const left = anchor === "middle" ? at - width / 2 : anchor === "end" ? at - width : at;
    for (const offset of [-10, 19, -24, 33]) {
      const place = { left, right: left + width, y: y(point.price) + offset };
      if (taken.some((other) => areNear(place, other))) continue;
      taken.push(place);
      const where = { class: "name", "data-row": row, x: at, y: round(place.y), "text-anchor": anchor };
      return [`<text${attributes(where)}>${escaped(name)}</text>`];
    }
    return [];
  });
};

interface Place {
  readonly left: number;
  readonly right: number;
  readonly y: number;
}

const areNear = (a: Place, b: Place): boolean => a.left < b.right && b.left < a.right && Math.abs(a.y - b.y) < 13;

const shortName = (name: string): string => {
  const own = name.slice(name.lastIndexOf("/") + 1);
  return own.length > 32 ? `${own.slice(0, 31)}…` : own;
};

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as it stands between tags, or in an attribute between quotes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => references[found] ?? "");

/** Attributes with values that are safe in them; those without a value are left out. */
export const attributes = (values: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [` ${name}="${escaped(String(value))}"`]))
    .join("");
