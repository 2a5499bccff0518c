/** The run of `rollcall models`. */
import { matchesPattern, modelFields } from "../../catalogs/index.ts";
import { openClient, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { type InferenceModel, listModels } from "../../contract/models.ts";
import { known, mistypedNames, type ReplyList } from "../../contract/replies.ts";
import { printList } from "../../output/index.ts";
import { openMistypings, orderOf, selected, tellNulls, tellSelection, withAskedSeen } from "../lists/selection.ts";
import type { TypedModels } from "./command.ts";

/** Lists the models that can be called, with `--with-prices` joined with the catalogs. @throws Failure */
export const run = async (context: Context, typed: TypedModels): Promise<void> => {
  if (typed.withPrices) {
    const { listPriced } = await import("../catalog/list.ts");
    return await listPriced(context, typed, async () => await readModels(context));
  }
  const { screen } = context;
  const { pattern, limit } = typed;
  const order = orderOf(typed.sort, modelFields);
  const progress = screen.progress("listing the models");
  const models = await readModels(context).finally(progress.stop);
  const isMeant = matchesPattern(pattern ?? "");
  const matches = ({ id }: InferenceModel) => isMeant({ id: known(id) ?? "", name: "" });
  const mistypings = openMistypings("shown as it came");
  const see = (model: InferenceModel) => {
    if (matches(model)) mistypings.add(model.id, mistypedNames(model));
  };
  const selection = selected({ entries: models, see, matches, order, limit });
  mistypings.tell(screen);
  tellSelection(screen, selection, {
    pattern,
    of: models.length,
    filtered: false,
    none: "the service lists no models",
  });
  const kept = selection.kept.map((at) => models.positions[at] ?? at);
  await printList(screen, {
    columns: withAskedSeen(modelFields, { order }),
    rows: selection.rows,
    wire: { bytes: models.bytes, member: "data", elements: models.elements, kept },
  });
};

const readModels = async (context: Context): Promise<ReplyList<InferenceModel>> => {
  const client = await openClient(context, await settingsInForce(context));
  const { value: models } = await client.send(listModels, { parameters: {}, body: undefined });
  if (models.hasMore) {
    context.screen.notice("the service has more models than it lists (has_more): this is its first page");
  }
  tellNulls(context.screen, models, "the list of models");
  return models;
};
