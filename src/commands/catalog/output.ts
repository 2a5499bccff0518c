/** Defines the documents of `catalog`. */
import * as s from "../../output/document-schemas.ts";

export const notes = s.optionalAbout("notices about an incomplete list", s.list(s.text));

/** A catalog entry (interface 2.5). Enumerated fields can contain any string. */
const model = s.describe(
  `a model ${s.passthroughNote}`,
  s.looseObject({
    ...s.sameKeys(s.sentText, "id", "name"),
    created: s.sent("Unix seconds"),
    ...s.sameKeys(s.sentTexts, "input_modalities", "output_modalities"),
    quantization: s.sent("a text such as int4"),
    ...s.sameKeys(s.sentInteger, "context_length", "max_output_length"),
    pricing: s.sent("decimal strings in US dollars per token; image and request per unit"),
    ...s.sameKeys(s.sentTexts, "supported_sampling_parameters", "supported_features"),
    datacenters: s.sent("a list of objects with country_code"),
    deprecation_date: s.sentText,
  }),
);

/** A list of a service, which can be or contain null. */
export const sentList = (row: s.Schema) => s.nullable(s.array(s.nullable(row)));

const list = s.looseObject({ data: sentList(model), notes });

export const outputs: s.Outputs = {
  "catalog analysis": ["the models in the analysis catalog", list, model],
  "catalog router": ["the models in the router catalog", list, model],
};
