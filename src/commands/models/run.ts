/** The run of `rollcall models`. */
import { matchesPattern } from "../../catalogs/index.ts";
import { openClient, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { known, mistypedNames } from "../../contract/fields.ts";
import { type InferenceModel, listModels } from "../../contract/models.ts";
import { printList } from "../../output/index.ts";
import { openMistypings, withoutNullEntries } from "../lists/mistyped.ts";
import { orderOf, selected, tellSelection, withAskedSeen } from "../lists/selection.ts";
import { modelColumns } from "./columns.ts";
import type { TypedModels } from "./command.ts";

/** Lists the models that can be called, with `--with-prices` joined with the catalogs. @throws Failure */
export const run = async (context: Context, typed: TypedModels): Promise<void> => {
  if (typed.withPrices) {
    const { listPriced } = await import("../catalog/list.ts");
    return await listPriced(context, typed, async () => await readModels(context));
  }
  const { screen } = context;
  const { pattern, limit } = typed;
  const order = orderOf(typed.sort, modelColumns);
  const progress = screen.progress("listing the models");
  const { entries, bytes } = await readModels(context).finally(progress.stop);
  const matches = matcherFor(pattern);
  const mistyped = openMistypings({ fieldsOf: mistypedNames, isMeant: matches, what: "shown as it came" });
  const selection = selected({ entries, see: mistyped.add, matches, order, limit });
  mistyped.tell(screen);
  tellSelection(screen, selection, {
    pattern,
    of: entries.length,
    filtered: false,
    none: "the service lists no models",
  });
  await printList(screen, {
    columns: withAskedSeen(modelColumns, { order }),
    rows: selection.rows,
    wire: { bytes, member: "data", kept: selection.kept },
  });
};

const readModels = async (context: Context) => {
  const client = await openClient(context, await settingsInForce(context));
  const { value, bytes } = await client.send(listModels, { parameters: {}, body: undefined });
  // Assumed: a service that pages its list says so as others do. The interface has no way to ask for the next page.
  if (value.has_more === true) {
    context.screen.notice("the service has more models than it lists (has_more): this is its first page");
  }
  const entries = value.data;
  return { entries, bytes: withoutNullEntries(context.screen, { entries, bytes, where: "the list of models" }) };
};

const matcherFor = (pattern = ""): ((model: InferenceModel) => boolean) => {
  if (pattern === "") return () => true;
  const matches = matchesPattern(pattern);
  return ({ id }) => matches({ id: known(id) ?? "", name: "" });
};
