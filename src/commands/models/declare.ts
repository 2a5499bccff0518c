/** `rollcall models`: the models that can be called. */

import type { Command } from "commander";
import type { Context, Start } from "../../context.ts";
import { known } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { Failure } from "../../failure.ts";
import { printList } from "../../output/index.ts";
import { filterOf, filterOptions, type TypedFilter, typedFilters } from "../catalog/filter.ts";
import { openModelOddities } from "../catalog/odd.ts";
import { examples } from "../help.ts";
import {
  limitOf,
  type Order,
  orderOf,
  selected,
  selectionNotice,
  selectionOptions,
  type TypedSelection,
  watched,
  withOrderSeen,
} from "../lists/selection.ts";
import { modelColumns } from "./columns.ts";

/** What `models` was asked for. */
interface ModelsOptions {
  readonly pattern: string | undefined;
  readonly order: readonly Order<InferenceModel>[];
  readonly limit: number | undefined;
}

interface TypedModels extends TypedFilter, TypedSelection {
  readonly withPrices?: boolean;
}

/** Declares `models` (interface 4.2). */
export const declareModels = (parent: Command, start: Start): void => {
  const command = parent
    .command("models")
    .description("list the models that can be called")
    .argument("[pattern]", "words of the id, or a glob such as 'qwen*'")
    .option("--with-prices", "joined with the catalogs: prices, deprecation and the rest");
  selectionOptions(filterOptions(command)).action(
    async (pattern: string | undefined, typed: TypedModels, own: Command) => {
      const context = start(own);
      const limit = limitOf(typed.limit);
      if (typed.withPrices === true) {
        const filter = filterOf({ ...typed, pattern }, { now: context.host.now() });
        const { listPriced } = await import("./priced.ts");
        return await listPriced(context, { filter, sort: typed.sort, limit }, async () => await readModels(context));
      }
      const [option] = typedFilters(typed);
      if (option !== undefined) throw new Failure("option-needs", { option, needs: "--with-prices" });
      await listModels(context, { pattern, order: orderOf(typed.sort, modelColumns), limit });
    },
  );
  examples(command, [
    "rollcall models --local",
    "rollcall models 'qwen*' --sort -created --json --local",
    "rollcall models --with-prices --sort pricing.prompt --local",
  ]);
};

const listModels = async (context: Context, { pattern, order, limit }: ModelsOptions): Promise<void> => {
  const { screen } = context;
  const progress = screen.progress("listing the models");
  const { entries, bytes } = await readModels(context).finally(progress.stop);
  const matches = await matcherFor(context, pattern);
  const oddities = openModelOddities(matches);
  const selection = selected({ entries: watched(entries, oddities.add), matches, order, limit });
  const about = { pattern, of: entries.length, filtered: false, none: "the service lists no models" };
  for (const sentence of [oddities.notice(), selectionNotice(selection, about)]) {
    if (sentence !== undefined) screen.notice(sentence);
  }
  await printList(screen, {
    columns: withOrderSeen(modelColumns, order),
    rows: selection.rows,
    wire: { bytes, member: "data", kept: selection.kept },
  });
};

const readModels = async (context: Context) => {
  const endpoint = (await context.contract.models()).listModels;
  const client = await context.client(await context.settings());
  const { value, bytes } = await client.send(endpoint, { parameters: {}, body: undefined });
  return { entries: value.data, bytes };
};

const matcherFor = async (context: Context, pattern = ""): Promise<(model: InferenceModel) => boolean> => {
  if (pattern === "") return () => true;
  const matches = (await context.catalogs()).matchesPattern(pattern);
  return ({ id }) => matches({ id: known(id) ?? "", name: "" });
};
