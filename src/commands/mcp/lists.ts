/** The tools `models` and `catalog`: a page of what is listed, as the service wrote it. */
import type { CatalogName } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { known } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { Failure, isFailure } from "../../failure.ts";
import type { Tool } from "../../mcp/index.ts";
import { catalogColumns, ownPriceColumn, pricesIn } from "../catalog/columns.ts";
import { requireWords } from "../catalog/filter.ts";
import { orderOf } from "../lists/selection.ts";
import { modelColumns } from "../models/columns.ts";
import { filterParameters } from "./filter.ts";
import { joined, type List, pageOf, pageSchema } from "./page.ts";
import { type McpRoom, type Opened, openMemo, type Session } from "./session.ts";

/** The tool `models` (interface 4.2). */
export const modelsTool = (room: McpRoom, session: Session): Tool => {
  const { pattern, sort, limit, offset } = listParameters(room);
  const listed = openMemo<List<InferenceModel>>(session);
  return {
    name: "models",
    title: "Models that can be called",
    description: "Lists the models that the service can run: id, created (Unix seconds), owned_by, root.",
    parameters: [pattern, sort, limit, offset],
    result: pageSchema,
    asksService: true,
    run: named({ "--sort": sort.name }, async (given) => {
      const order = orderOf(sortOf(given(sort)), modelColumns);
      const matches = (await session.context.catalogs()).matchesPattern(given(pattern) ?? "");
      const models = await listed(async (opened) => await readModels(session.context, opened));
      return pageOf({
        lists: [models],
        matches: ({ id }) => matches({ id: known(id) ?? "", name: "" }),
        order,
        offset: given(offset),
        limit: given(limit),
      });
    }),
  };
};

/** The tool `catalog` (interface 4.4 and 4.5). */
export const catalogTool = (room: McpRoom, session: Session): Tool => {
  const { pattern, sort, limit, offset } = listParameters(room);
  const catalog = room.neededChoice({ name: "catalog", about: "whose catalog; all is both" }, catalogChoices);
  const filter = filterParameters(room);
  const callable = room.flag({
    name: "callable",
    about: "only models that the tool models lists too, by exactly the same id",
  });
  const models = openMemo<List<InferenceModel>>(session);
  const listed = {
    analysis: openMemo<List<CatalogModel>>(session),
    router: openMemo<List<CatalogModel>>(session),
  };
  return {
    name: "catalog",
    title: "Public catalogs of models",
    description:
      "Searches the public catalogs of models: modalities, context_length and max_output_length (tokens), quantization, features, " +
      "data centres, deprecation_date, created (Unix seconds), pricing as decimal texts in US dollars PER TOKEN (image and request: " +
      "each). Absent means not stated, never zero. All filters must hold.",
    parameters: [catalog, pattern, callable, ...filter.parameters, sort, limit, offset],
    result: pageSchema,
    asksService: true,
    run: named({ "--sort": sort.name, ...filter.options }, async (given) => {
      const { context } = session;
      const now = context.host.now();
      const catalogs = await context.catalogs();
      const asked = { ...filter.meant(given, { now, dayOf: catalogs.dayOf }), pattern: given(pattern) };
      const sorts = sortOf(given(sort));
      const order = orderOf(sorts, [...catalogColumns(), ...pricesIn(sorts).map((name) => ownPriceColumn(name))]);
      const names = catalogs.catalogNames.filter((name) => given(catalog) === "all" || given(catalog) === name);
      const [ids, lists] = await Promise.all([
        given(callable) ? idsOf(await models(async (opened) => await readModels(context, opened))) : undefined,
        Promise.all(
          names.map(async (name) => await listed[name](async (opened) => await readList(context, opened, name))),
        ),
      ]);
      requireWords(asked, joined(lists));
      const isMeant = catalogs.matcherOf(asked, { now });
      const isCallable = ({ id }: CatalogModel): boolean => ids === undefined || ids.has(known(id) ?? "");
      const matches = (model: CatalogModel): boolean => isMeant(model) && isCallable(model);
      return pageOf({ lists, matches, order, offset: given(offset), limit: given(limit) });
    }),
  };
};

const catalogChoices = ["analysis", "router", "all"] as const;

const sortOf = (typed: string | undefined): readonly string[] =>
  typed === undefined ? [] : typed.split(",").map((one) => one.trim());

/** Names a value's parameter where the command would name its option. */
const named =
  (parameters: Readonly<Record<string, string>>, run: Tool["run"]): Tool["run"] =>
  async (given, about) => {
    try {
      return await run(given, about);
    } catch (thrown) {
      if (!isFailure(thrown, "option-value-wrong")) throw thrown;
      const { option, ...data } = thrown.data;
      throw new Failure("option-value-wrong", { ...data, option: parameters[option] ?? option }, thrown.about);
    }
  };

const readModels = async ({ contract }: Context, { client }: Opened): Promise<List<InferenceModel>> => {
  const { listModels } = await contract.models();
  const { value, bytes } = await client.send(listModels, { parameters: {}, body: undefined });
  return { entries: value.data, bytes };
};

const idsOf = ({ entries }: List<InferenceModel>): ReadonlySet<string> => {
  const ids = new Set<string>();
  for (const { id } of entries) ids.add(known(id) ?? "");
  // A model without an id is none of another without one.
  ids.delete("");
  return ids;
};

const readList = async (
  { contract }: Context,
  { settings, client }: Opened,
  catalog: CatalogName,
): Promise<List<CatalogModel>> => {
  const { listAnalysisModels, listRouterModels } = await contract.catalog();
  const provider = settings.require(`${catalog}_provider`);
  const { value, bytes } =
    catalog === "analysis"
      ? await client.send(listAnalysisModels, { parameters: { analysis_provider: provider }, body: undefined })
      : await client.send(listRouterModels, { parameters: { router_provider: provider }, body: undefined });
  return { entries: value.data, bytes, catalog };
};

const listParameters = ({ text, count }: McpRoom) => ({
  pattern: text({
    name: "pattern",
    about: "words that the id or name holds, in any case; with * or ? a glob over the id",
  }),
  sort: text({
    name: "sort",
    about: "a column such as id or pricing.prompt, or several with commas; with - in front the largest comes first",
  }),
  limit: count({ name: "limit", about: "most entries to give" }, { least: 1, most: 200, usual: 20 }),
  offset: count(
    { name: "offset", about: "entries to leave out first: next_offset of the page before" },
    { least: 0, most: 1_000_000, usual: 0 },
  ),
});
