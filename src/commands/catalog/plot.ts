/** `rollcall catalog plot`: what models cost, against the context that they take. */
import type { Command } from "commander";
import type { CatalogName, Filter } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import { known } from "../../contract/fields.ts";
import { type Decimal, formatDecimal, shifted } from "../../decimal.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { type Column, openWebPage, type Plot, printList, printPlot } from "../../output/index.ts";
import { examples } from "../help.ts";
import { filterOf, filterOptions, requireWords, type TypedFilter } from "./filter.ts";
import { endWith, listedOf, readCatalogs } from "./joined.ts";
import { openOddities } from "./odd.ts";
import { pageOf } from "./plot-page.ts";
import {
  type CatalogRead,
  type CatalogSource,
  catalogNamed,
  catalogsInForce,
  sourceOf,
  sourceOptions,
  type TypedSource,
} from "./source.ts";

interface TypedPlot extends TypedFilter, TypedSource {
  readonly catalog?: string;
  readonly price?: string;
  readonly html?: string;
}

/** What was asked for. */
interface PlotOptions {
  readonly filter: Filter;
  readonly catalog: CatalogName | undefined;
  readonly price: PriceName;
  /** The file of a web page. */
  readonly html: string | undefined;
  readonly source: CatalogSource;
}

/** Prices that are paid for tokens: the others are of no model that takes a context. */
const plottedPrices = ["prompt", "completion", "input_cache_read"] as const;
type PriceName = (typeof plottedPrices)[number];

/** Declares `catalog plot` (interface 4.4 and 4.5). */
export const declareCatalogPlot = (group: Command, start: Start): void => {
  const command = group
    .command("plot")
    .description("draw what models cost against the context that they take")
    .argument("[pattern]", "words of the id or name, or a glob over the id such as 'qwen*'");
  filterOptions(command)
    .optionsGroup("plot")
    .option(`--price <${plottedPrices.join("|")}>`, "the price that is drawn (prompt)")
    .option("--html <file>", "write a web page too, with the table")
    .optionsGroup("source")
    .option("--catalog <analysis|router>", "only that catalog");
  sourceOptions(command).action(async (pattern: string | undefined, typed: TypedPlot, own: Command) => {
    const context = start(own);
    await drawCatalogs(context, {
      filter: filterOf({ ...typed, pattern }, { now: context.host.now() }),
      catalog: typed.catalog === undefined ? undefined : catalogNamed(typed.catalog),
      price: typed.price === undefined ? "prompt" : priceNamed(typed.price),
      html: typed.html === undefined ? undefined : fileNamed(typed.html),
      source: sourceOf(typed),
    });
  });
  examples(command, [
    "rollcall catalog plot --feature tools --local",
    "rollcall catalog plot kimi --html models.html --local",
    "rollcall catalog plot --price completion --country EU --local",
  ]);
};

/** @throws Failure `option-value-wrong` where it names no file: a page is no output that a program reads */
const fileNamed = (value: string): string => {
  if (value !== "" && value !== "-") return value;
  throw new Failure("option-value-wrong", {
    option: "--html",
    value,
    wanted: "the name of a file, such as models.html",
  });
};

/** @throws Failure `option-value-wrong` */
const priceNamed = (value: string): PriceName => {
  const found = plottedPrices.find((name) => name === value);
  if (found !== undefined) return found;
  const suggestion = nearest(value, plottedPrices);
  throw new Failure("option-value-wrong", {
    option: "--price",
    value,
    wanted: plottedPrices.join(", "),
    ...(suggestion === undefined ? {} : { suggestion }),
  });
};

const drawCatalogs = async (context: Context, options: PlotOptions): Promise<void> => {
  const { screen } = context;
  const page = options.html === undefined ? undefined : await openWebPage(screen, options.html);
  const settings = await context.settings();
  const names = options.catalog === undefined ? await catalogsInForce(context, settings) : [options.catalog];
  const progress = screen.progress("reading catalogs");
  const { source } = options;
  const { read, failures } = await readCatalogs(context, { settings, source, names }).finally(progress.stop);
  const { points, others } = await pointsOf(context, options, read);
  const plot = plotOf(points, options, read);
  if (page !== undefined) {
    await page.write({
      ...(await pageOf(context, { filter: options.filter, read })),
      plot,
      ...drawnOf(points, options),
    });
    screen.notice(`${options.html} has the models as a page: open it in a browser`);
  }
  const notice = noticeOf({ points: points.length, others, price: options.price });
  if (notice !== undefined) screen.notice(notice);
  if (screen.format === "table") await printPlot(screen, plot);
  else await printList(screen, { columns: pointColumns(options), rows: points, wire: wireOf(points, options) });
  endWith(failures);
};

/** A model that can be drawn. */
export interface Point {
  readonly catalog: CatalogName;
  /** Its position among all models that are meant. */
  readonly at: number;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly context: number;
  /** Per token, as on the wire. */
  readonly price: Decimal;
  readonly notable: boolean;
}

/** The models meant that state both measures, and how many others were meant. */
const pointsOf = async (
  context: Context,
  { filter, price: name }: PlotOptions,
  read: readonly CatalogRead[],
): Promise<{ readonly points: readonly Point[]; readonly others: number }> => {
  const room = await context.catalogs();
  const listed = await listedOf(context, read);
  await requireWords(
    context,
    filter,
    room.changed(listed, ({ entry }) => entry),
  );
  const matches = room.matcherOf(filter, { now: context.host.now() });
  const oddities = openOddities(room, filter);
  const found: Omit<Point, "notable">[] = [];
  let meant = 0;
  for (const { catalog, entry } of listed) {
    oddities.add(entry);
    if (!matches(entry)) continue;
    const at = meant++;
    const [tokens, price] = [known(entry.context_length), room.priceIn(entry.pricing, name)];
    if (tokens === undefined || !Number.isSafeInteger(tokens) || tokens <= 0 || price === undefined) continue;
    found.push({ catalog, at, id: known(entry.id), name: known(entry.name), context: tokens, price });
  }
  const odd = oddities.notice();
  if (odd !== undefined) context.screen.notice(odd);
  const free = found.filter(isFree);
  const notable = new Set([...room.frontOf(found.filter((one) => !isFree(one))), ...room.frontOf(free)]);
  return { points: found.map((one) => ({ ...one, notable: notable.has(one) })), others: meant - found.length };
};

const isFree = ({ price }: { readonly price: Decimal }): boolean => price.digits === 0n;

const noticeOf = (about: {
  readonly points: number;
  readonly others: number;
  readonly price: PriceName;
}): string | undefined => {
  const { points, others, price } = about;
  if (points === 0 && others === 0) return "no model matches";
  if (others === 0) return undefined;
  return `${others} of ${points + others} models state no context length or no ${price} price: they are left out`;
};

/** US dollars per million tokens, as a person reads it. */
const perMillionOf = ({ price }: Point): string => formatDecimal(shifted(price, 6));

const plotOf = (points: readonly Point[], { price }: PlotOptions, read: readonly CatalogRead[]): Plot => {
  const series = read.map(({ place }) => place.catalog);
  return {
    title: `${points.length} ${points.length === 1 ? "model" : "models"}: price against context`,
    contextName: "context, tokens",
    priceName: `${price}, $ per million tokens`,
    notableName: "no other takes as much for as little",
    series,
    points: points.map((point) => ({
      name: point.id ?? point.name ?? "",
      series: series.indexOf(point.catalog),
      context: point.context,
      price: Number(perMillionOf(point)),
      priceText: perMillionOf(point),
      notable: point.notable,
    })),
  };
};

/** Which rows of the page the points are, and what is drawn of them. */
const drawnOf = (points: readonly Point[], { price }: PlotOptions) => ({
  rowOf: points.map(({ at }) => at),
  priceColumn: `pricing.${price}`,
});

/** The columns of the points; their order is a promise (promises.md, "Output"). */
export const pointColumns = ({ price }: Pick<PlotOptions, "price">): readonly Column<Point>[] => [
  { name: "id", heading: "id", rank: 0, cell: ({ id }) => id ?? "", value: ({ id }) => id },
  { name: "catalog", heading: "catalog", rank: 1, cell: ({ catalog }) => catalog, value: ({ catalog }) => catalog },
  {
    name: "context_length",
    heading: "context\ntokens",
    rank: 0,
    align: "right",
    cell: ({ context }) => String(context),
    value: ({ context }) => context,
  },
  {
    name: "price",
    heading: `${price}\n$/M`,
    rank: 0,
    align: "decimal",
    cell: perMillionOf,
    value: (point) => formatDecimal(point.price),
  },
  {
    name: "best",
    heading: "best",
    rank: 0,
    cell: ({ notable }) => (notable ? "best" : ""),
    value: ({ notable }) => notable,
  },
];

/** `{"price":"prompt","data":[{"id","name","catalog","context_length","price","best"}]}` */
const wireOf = (points: readonly Point[], { price }: PlotOptions) => {
  const data = points.map(({ id = null, name = null, catalog, context, price: amount, notable }) => {
    return { id, name, catalog, context_length: context, price: formatDecimal(amount), best: notable };
  });
  return { bytes: Buffer.from(JSON.stringify({ price, data })), member: "data" };
};
