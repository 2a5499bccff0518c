/** Lists the inference models or the entries of a catalog. A list of one model is a page on a terminal. */

import { isObject } from "../../json/json-bytes.ts";
import { readSpelledObject } from "../../output/json-fields.ts";
import { formatCell, printList } from "../../output/list.ts";
import { printPage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import { noteDefects, noteSelection, parseOrder, rankColumns, sortRows } from "../../output/sort-rows.ts";
import type { Column, Line, Section } from "../../output/views.ts";
import { openServiceClient, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { OrderOptions } from "../../session/options.ts";
import { pluralize } from "../../text/sentences.ts";
import * as contract from "../../wire/contract/reads.ts";
import { entryColumns, modelColumns } from "./catalog-columns.ts";
import type { CatalogOptions } from "./command.ts";
import { filterModels, parseAmount } from "./filter.ts";

type ListName = "models" | "analysis" | "router";
type ListOptions = Partial<CatalogOptions> & OrderOptions & { readonly pattern: string | undefined };

export const listModels = async (context: Context, list: ListName, typed: ListOptions) => {
  const { screen, host } = context;
  const columns = list === "models" ? modelColumns : entryColumns(host.now());
  const order = parseOrder(typed.sort, columns);
  const { document, entries } = await readList(context, list, typed);
  const { matching, unreadable, columns: filtered } = filterModels(entries, typed);
  for (const [name, count] of unreadable)
    screen.notice(`filtered out ${pluralize(count, "model")} without a readable value of ${name}`);
  const rows = (await sortRows(matching, order, host.signal)).slice(0, typed.limit);
  noteSelection(screen, { all: entries, matching, shown: rows }, "models");
  const [only, ...others] = rows;
  if (only && others.length === 0 && screen.format === "table" && !screen.fields)
    return await printPage(screen, { sections: toSections(only, columns) });
  if (list !== "models") noteOtherPrices(screen, rows);
  const ranked = rankColumns(columns, order, filtered);
  const json = { document, member: "data", shownPositions: rows.map(({ position }) => position) };
  await printList(screen, { columns: ranked, rows, json });
};

const readList = async (context: Context, list: ListName, { analysisProvider, routerProvider }: ListOptions) => {
  const providers = { analysis_provider: analysisProvider, router_provider: routerProvider };
  const settings = await readEffectiveSettings(context, providers);
  if (list !== "models") settings.requireAll(["base_url", `${list}_provider`]);
  const client = await openServiceClient(context, settings);
  const body = undefined;
  const send = {
    models: () => client.send(contract.listModels, { body, parameters: {} }),
    analysis: () => {
      const parameters = { analysis_provider: settings.require("analysis_provider") };
      return client.send(contract.listAnalysisModels, { body, parameters });
    },
    router: () => {
      const parameters = { router_provider: settings.require("router_provider") };
      return client.send(contract.listRouterModels, { body, parameters });
    },
  };
  const progress = context.screen.startProgress("listing the models");
  const models = await send[list]().finally(progress.stop);
  noteDefects(context.screen, models, list === "models" ? "the list of models" : `the ${list} catalog`);
  return models;
};

const priceNames = entryColumns(0).flatMap(({ name }) => /^pricing\.(.*)/.exec(name)?.[1] ?? []);

/** Members of `pricing` such as a unit or a condition can change the meaning of the prices. */
const noteOtherPrices = ({ fields, notice }: Screen, rows: readonly contract.ModelEntry[]) => {
  const found = rows.map(({ value: { pricing } }) => listOthers(pricing)).filter(({ length }) => length > 0);
  if (found.length === 0 || fields?.every((name) => !priceNames.some((price) => name.endsWith(price)))) return;
  const names = [...new Set(found.flat())].join(", ");
  notice(`the pricing of ${pluralize(found.length, "model")} has members that can change the prices: ${names}`);
};

const listOthers = (pricing: unknown) =>
  Object.entries(isObject(pricing) ? pricing : {}).flatMap(([name, value]) =>
    priceNames.includes(name) || value === null || parseAmount(value) ? [] : `pricing.${name}`,
  );

const toSections = (row: contract.ModelEntry, columns: readonly Column<contract.ModelEntry>[]): readonly Section[] => {
  const { pricing, datacenters } = row.value;
  const spelled = readSpelledObject(row.raw);
  const lines = columns.map((column): Line => {
    const { name, heading = name, tag: tagOf } = column;
    const tag = tagOf?.(row);
    const text = formatCell(column, row, (separator) => spelled.text(name, separator));
    return { label: heading.replace("\n", " "), text: tag ? `${text} ${tag.text}` : text, tone: tag?.tone };
  });
  // Data centers with other facts than a country also appear in `other`, as JSON.
  const hasOnlyCountries =
    Array.isArray(datacenters) &&
    datacenters.every((one) => isObject(one) && Object.keys(one).every((key) => key === "country_code"));
  const shown = new Set([
    ...columns.map(({ name }) => name),
    ...(isObject(pricing) ? ["pricing"] : []),
    ...(hasOnlyCountries ? ["datacenters"] : []),
  ]);
  const prices = isObject(pricing) ? Object.keys(pricing).map((name) => `pricing.${name}`) : [];
  const others = [...prices, ...spelled.keys]
    .filter((key) => !shown.has(key))
    .map((key) => ({ label: key, text: spelled.json(key) }));
  const [id, ...facts] = lines;
  return [
    { title: id?.text || "a model without an id", lines: facts },
    { title: "other", level: 2, lines: others },
  ];
};
