/** Defines the documents of `models`. */
import * as s from "../../output/document-schemas.ts";
import { model as catalogModel, catalogOrNull, catalogRows, notes, sentList } from "../catalog/output.ts";

/** An inference model (interface 2.3). Assumed: `created` is in Unix seconds, or 0 if unknown. */
const model = s.describe(
  `a model ${s.passthroughNote}`,
  s.looseObject({
    id: s.sentText,
    object: s.sent('"model"'),
    created: s.sent("Unix seconds"),
    owned_by: s.sentText,
    root: s.sentText,
  }),
);
const priced = s.object({ model, catalog: catalogOrNull, entry: s.nullable(catalogModel) });
const models = s.union([
  s.looseObject({ object: s.sent('"list"'), data: sentList(model), notes }),
  s.describe("with --with-prices", catalogRows(priced)),
]);

export const outputs: s.Outputs = {
  models: [
    "the inference models",
    models,
    s.union([model, s.describe("with --with-prices", priced)]),
    ({ withPrices }) => (withPrices ? priced : model),
  ],
};
