/** `rollcall catalog cost`: what a usage costs at each model's prices, cheapest first. */

import type { Command } from "commander";
import type { CatalogName, Filter } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import type { Entries } from "../../contract/fields.ts";
import { known } from "../../contract/fields.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { printList } from "../../output/index.ts";
import { examples } from "../help.ts";
import { limitOf } from "../lists/selection.ts";
import { type CostRow, costColumns } from "./cost-columns.ts";
import { filterOf, filterOptions, requireWords, type TypedFilter } from "./filter.ts";
import {
  type CatalogRead,
  type CatalogSource,
  catalogNamed,
  catalogsInForce,
  readCatalog,
  sourceOf,
  sourceOptions,
  type TypedSource,
} from "./source.ts";
import { readUsage, type TypedUsage, type UsageAsked, type UsageRead, usageAsked, usageOptions } from "./usage.ts";

interface TypedCost extends TypedSource, TypedFilter, TypedUsage {
  readonly catalog?: string;
  readonly like?: string;
  readonly limit?: string;
}

/** What `catalog cost` was asked for. */
interface CostOptions {
  readonly models: readonly string[];
  readonly usage: UsageAsked;
  readonly like: string | undefined;
  readonly filter: Filter;
  readonly catalog: CatalogName | undefined;
  readonly limit: number | undefined;
  readonly source: CatalogSource;
}

/** Declares `catalog cost`. */
export const declareCatalogCost = (group: Command, start: Start): void => {
  const command = group
    .command("cost")
    .description("price a usage at each model, cheapest first")
    .argument("[model...]", "ids, or globs over them; none: all models");
  usageOptions(command);
  filterOptions(
    command.optionsGroup("models").option("--like <model>", "only models that could serve what this one could"),
  );
  command
    .optionsGroup("source")
    .option("--catalog <analysis|router>", "only that catalog")
    .option("--limit <n>", "only the first of them");
  sourceOptions(command).action(async (models: string[], typed: TypedCost, own: Command) => {
    const context = start(own);
    const { like, limit } = typed;
    await showCosts(context, {
      models,
      usage: usageAsked(typed),
      like,
      filter: filterOf(typed, { now: context.host.now() }),
      catalog: typed.catalog === undefined ? undefined : catalogNamed(typed.catalog),
      limit: limitOf(limit),
      source: sourceOf(typed),
    });
  });
  examples(command, [
    "rollcall catalog cost --prompt-tokens 10k --completion-tokens 2k --local",
    "rollcall catalog cost --from-file rollouts.jsonl --like moonshotai/Kimi-K2.5",
  ]);
};

/** @throws Failure `models-missing`, once the others were printed */
const showCosts = async (context: Context, options: CostOptions): Promise<void> => {
  const { screen } = context;
  const settings = await context.settings();
  const names = options.catalog === undefined ? await catalogsInForce(context, settings) : [options.catalog];
  const progress = screen.progress("reading catalogs");
  try {
    const usage = await readUsage(context, settings, options.usage);
    const read: CatalogRead[] = [];
    for (const catalog of names) read.push(await readCatalog(context, { settings, catalog, source: options.source }));
    progress.stop();
    const { rows, missing } = await costsOf(context, { options, usage, read });
    for (const sentence of usage.notices) screen.notice(sentence);
    const shown = rows.slice(0, options.limit);
    const unknown = shown.filter(({ cost }) => cost.total === null).length;
    if (rows.length === 0 && missing.length === 0) screen.notice("no model is like that");
    if (unknown > 0) screen.notice(unknownNotice(unknown, shown.length));
    await printList(screen, {
      columns: costColumns({ several: names.length > 1 }),
      rows: shown,
      wire: { bytes: Buffer.from(JSON.stringify(documentOf(usage, shown))), member: "models" },
    });
    if (missing.length > 0) throw new Failure("models-missing", { models: missing, catalogs: names });
  } finally {
    progress.stop();
  }
};

const unknownNotice = (unknown: number, of: number): string =>
  `${unknown} of ${of} models state no price of something that was used: their total is not known`;

/** `{"usage":{…},"models":[{"catalog","id","name","total","at_least","not_stated","items":[{"price","count","unit_price","cost"}]}]}` */
const documentOf = ({ usage, recorded, from }: UsageRead, rows: readonly CostRow[]) => ({
  usage: { ...usage, from, ...(recorded === undefined ? {} : { recorded }) },
  models: rows.map(({ catalog, id, name, cost: { total, at_least, not_stated, items } }) => {
    return { catalog, id: id ?? null, name: name ?? null, total, at_least, not_stated, items };
  }),
});

/** A model that was named, and is in no catalog. */
interface Missing {
  readonly id: string;
  readonly near: string | undefined;
}

const costsOf = async (
  context: Context,
  {
    options,
    usage: { usage, unitsAsked },
    read,
  }: { readonly options: CostOptions; readonly usage: UsageRead; readonly read: readonly CatalogRead[] },
): Promise<{ readonly rows: readonly CostRow[]; readonly missing: readonly Missing[] }> => {
  const { compareCosts, costOf, matchesPattern } = await context.catalogs();
  const [matches, alike] = await matchersOf(context, options, read);
  const named = options.models.map((text) => ({
    text,
    glob: isGlob(text) ? matchesPattern(text) : undefined,
    found: false,
  }));
  const [rows, ids]: [CostRow[], Set<string>] = [[], new Set()];
  for (const { place, value } of read) {
    for (const model of value.data) {
      const [id, name] = [known(model.id), known(model.name)];
      if (named.length > 0 && id !== undefined) ids.add(id);
      const meant = named.filter(({ text, glob }) => text === id || glob?.({ id: id ?? "", name: "" }) === true);
      for (const one of meant) one.found = true;
      if ((named.length > 0 && meant.length === 0) || !matches(model) || !alike(model)) continue;
      rows.push({ catalog: place.catalog, id, name, cost: costOf(model, { usage, unitsAsked }) });
    }
  }
  const missing = named.filter(({ found }) => !found).map(({ text }) => ({ id: text, near: nearest(text, [...ids]) }));
  return { rows: rows.sort((a, b) => compareCosts(a.cost, b.cost) || byId(a, b)), missing };
};

const isGlob = (text: string): boolean => /[*?]/.test(text);

const byId = (a: CostRow, b: CostRow): number =>
  (a.id ?? "") < (b.id ?? "") ? -1 : (a.id ?? "") > (b.id ?? "") ? 1 : 0;

/** The entries of all catalogs, one after the other. */
const together = (read: readonly CatalogRead[]): Entries<CatalogModel> => ({
  length: read.reduce((sum, { value }) => sum + value.data.length, 0),
  at(position) {
    let left = position;
    for (const { value } of read) {
      if (left < value.data.length) return value.data.at(left);
      left -= value.data.length;
    }
    return undefined;
  },
  *[Symbol.iterator]() {
    for (const { value } of read) yield* value.data;
  },
});

/** The tests of the filters, and of `--like`. @throws Failure `models-missing`, `option-value-wrong` */
const matchersOf = async (
  context: Context,
  { filter, like }: CostOptions,
  read: readonly CatalogRead[],
): Promise<readonly [(model: CatalogModel) => boolean, (model: CatalogModel) => boolean]> => {
  const { likeFilter, matcherOf } = await context.catalogs();
  const moment = { now: context.host.now() };
  await requireWords(context, filter, together(read));
  const matches = matcherOf(filter, moment);
  if (like === undefined) return [matches, () => true];
  const ids = new Set<string>();
  for (const { value } of read) {
    for (const model of value.data) {
      const id = known(model.id);
      if (id === like) return [matches, matcherOf(likeFilter(model), moment)];
      if (id !== undefined) ids.add(id);
    }
  }
  const near = nearest(like, [...ids]);
  throw new Failure("models-missing", {
    models: [{ id: like, near }],
    catalogs: read.map(({ place }) => place.catalog),
  });
};
