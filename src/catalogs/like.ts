/** Which models could stand in for another: what it can do, as a filter. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/odd.ts";
import type { Filter } from "./filter.ts";

/**
 * What a model must have to serve whatever this one could: as much context, its modalities, features and sampling
 * parameters. What this one does not state is not asked.
 */
export const likeFilter = (model: CatalogModel): Filter => ({
  inputModalities: known(model.input_modalities) ?? [],
  outputModalities: known(model.output_modalities) ?? [],
  features: known(model.supported_features) ?? [],
  parameters: known(model.supported_sampling_parameters) ?? [],
  // Assumed: 0 says "not stated".
  ...(known(model.context_length) ? { minContext: known(model.context_length) } : {}),
});
