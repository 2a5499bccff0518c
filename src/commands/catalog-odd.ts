/** Says once what a catalog holds that can't be understood. */
import type { Filter } from "../catalogs/index.ts";
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/odd.ts";

/** Models that are named in one sentence, and fields of each. */
const mostModels = 3;
const mostFields = 6;

/** The sentence, among the models that the pattern means; undefined where all of them can be understood. */
export const oddNotice = (
  { oddModels, matcherOf }: typeof import("../catalogs/index.ts"),
  models: readonly CatalogModel[],
  { pattern }: Filter,
): string | undefined => {
  const odd = oddModels(models.filter(matcherOf({ pattern }, { now: 0 })));
  if (odd.length === 0) return undefined;
  const named = odd.slice(0, mostModels).map(({ model, fields }) => `${nameOf(model)} (${listed(fields)})`);
  const more = odd.length > mostModels ? ` and ${odd.length - mostModels} more` : "";
  return `not of the interface's types, shown as it came and matched by no filter: ${named.join(", ")}${more}`;
};

const nameOf = ({ id }: CatalogModel): string => JSON.stringify(known(id) ?? "an entry without an id");

const listed = (fields: readonly string[]): string =>
  fields.length <= mostFields
    ? fields.join(", ")
    : `${fields.slice(0, mostFields).join(", ")} and ${fields.length - mostFields} more`;
