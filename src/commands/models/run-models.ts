/** Lists the inference models without catalog data. */
import { compilePattern } from "../../catalogs/fields.ts";
import { parseRawBytes } from "../../json/json-bytes.ts";
import { printList } from "../../output/list.ts";
import { modelColumns } from "../../output/lists/model-columns.ts";
import { noteSelection, parseOrder, rankColumns, sortRows } from "../../output/lists/sort-rows.ts";
import { readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { OrderOptions } from "../../session/options/list-options.ts";
import { readModels } from "../../session/read-models.ts";
import { saveIds } from "../../settings/saved-files.ts";
import { toText } from "../../wire/contract/replies.ts";

export const listModels = async (
  context: Context,
  { pattern, limit, sort }: OrderOptions & { readonly pattern: string | undefined },
) => {
  const { screen } = context;
  const order = parseOrder(sort, modelColumns);
  const progress = screen.startProgress("listing the models");
  const { bytes, entries } = await readModels(context, await readEffectiveSettings(context)).finally(progress.stop);
  const matches = compilePattern(pattern);
  const matching = entries.filter(({ value }) => matches(toText(value.id))).map((model) => ({ model }));
  const rows = (await sortRows(matching, order, context.host.signal)).slice(0, limit);
  noteSelection(screen, { all: entries, matching, shown: rows }, "models");
  const json = {
    document: parseRawBytes(bytes),
    member: "data",
    shownPositions: rows.map(({ model }) => model.position),
  };
  const ids = entries.map(({ value }) => value.id);
  saveIds(context.host, "models", ids);
  await printList(screen, { columns: rankColumns(modelColumns, order), rows, json });
};
