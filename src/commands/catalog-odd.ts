/** Says once what a catalog holds that can't be understood. */
import type { Filter } from "../catalogs/index.ts";
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/odd.ts";

/** Models that are named in one sentence, and fields of each. */
const mostModels = 3;
const mostFields = 6;

/** Gathers what can't be understood, model by model. */
export interface Oddities {
  add(model: CatalogModel): void;
  /** The sentence; undefined where all of them can be understood. */
  notice(): string | undefined;
}

/** Opens the gathering, for the models that the pattern means. */
export const openOddities = (
  { oddFields, matcherOf }: typeof import("../catalogs/index.ts"),
  { pattern }: Filter,
): Oddities => {
  const isMeant = matcherOf({ pattern }, { now: 0 });
  const named: string[] = [];
  let count = 0;
  return {
    add(model) {
      const fields = oddFields(model);
      if (fields.length === 0 || !isMeant(model)) return;
      if (count++ < mostModels) named.push(`${nameOf(model)} (${listed(fields)})`);
    },
    notice() {
      if (count === 0) return undefined;
      const more = count > mostModels ? ` and ${count - mostModels} more` : "";
      return `not of the interface's types, shown as it came and matched by no filter: ${named.join(", ")}${more}`;
    },
  };
};

const nameOf = ({ id }: CatalogModel): string => JSON.stringify(known(id) ?? "an entry without an id");

const listed = (fields: readonly string[]): string =>
  fields.length <= mostFields
    ? fields.join(", ")
    : `${fields.slice(0, mostFields).join(", ")} and ${fields.length - mostFields} more`;
