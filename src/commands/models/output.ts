/** Defines the documents of `models`. */
import { InferenceModel } from "../../contract/models.ts";
import * as s from "../../document-schemas.ts";
import { model as catalogModel, catalogOrNull, catalogRows, notes } from "../catalog/output.ts";

const model = s.describe(`a model ${s.passthroughNote}`, InferenceModel);
const priced = s.object({ model, catalog: catalogOrNull, entry: s.nullable(catalogModel) });
const models = s.union([
  s.looseObject({ object: s.optionalAbout('"list"', s.nullable(s.text)), data: s.array(model), notes }),
  s.describe("with --with-prices", catalogRows(priced)),
]);

export const outputs: s.Outputs = {
  models: ["the inference models", models, s.union([model, s.describe("with --with-prices", priced)])],
};
