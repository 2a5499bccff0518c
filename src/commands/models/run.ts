/** Runs `rollcall models`. */
import { compilePattern, modelFields } from "../../catalogs/index.ts";
import { effectiveSettings, openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { type InferenceModel, listModels } from "../../contract/models.ts";
import { type ReplyList, typedValue } from "../../contract/replies.ts";
import { printList } from "../../output/index.ts";
import { keepRequestedColumns, noteNulls, noteSelection, parseOrder, selectEntries } from "../lists/selection.ts";
import type { TypedModels } from "./command.ts";

export const run = async (context: Context, typed: TypedModels): Promise<void> => {
  if (typed.withPrices) {
    const { listPricedModels: listPriced } = await import("../catalog/list.ts");
    return await listPriced(context, typed, async () => await readModels(context));
  }
  const { screen } = context;
  const { pattern, limit } = typed;
  const order = parseOrder(typed.sort, modelFields);
  const progress = screen.startProgress("listing the models");
  const models = await readModels(context).finally(progress.stop);
  const matchesPattern = compilePattern(pattern ?? "");
  const matches = ({ id }: InferenceModel) => matchesPattern({ id: typedValue(id) ?? "", name: "" });
  const selection = selectEntries({ entries: models, matches, order, limit });
  noteSelection(screen, selection, {
    pattern,
    of: models.length,
    isFiltered: false,
    emptyText: "the service lists no models",
  });
  const shownPositions = selection.positions.map((at) => models.positions[at] ?? at);
  await printList(screen, {
    columns: keepRequestedColumns(modelFields, { order }),
    rows: selection.rows,
    wire: { bytes: models.bytes, member: "data", elements: models.elements, shownPositions },
  });
};

const readModels = async (context: Context): Promise<ReplyList<InferenceModel>> => {
  const client = await openClient(context, await effectiveSettings(context));
  const { value: models } = await client.send(listModels, { parameters: {}, body: undefined });
  if (models.hasMore) {
    context.screen.notice("these models are only the first page of the service's list (has_more)");
  }
  noteNulls(context.screen, models, "the list of models");
  return models;
};
