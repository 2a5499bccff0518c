/** Defines the documents of `models`. */
import * as s from "../../output/document-schemas.ts";
import { notes, sentList } from "../catalog/output.ts";

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
const models = s.looseObject({ object: s.sent('"list"'), data: sentList(model), notes });

export const outputs: s.Outputs = { models: ["the inference models", models, model] };
