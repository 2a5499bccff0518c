/** Says once what a list holds that can't be understood. */
import type { Filter } from "../../catalogs/index.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { known, mistypedNames } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";

/** Models that are named in one sentence, and fields of each. */
const mostModels = 3;
const mostFields = 6;

/** Gathers what can't be understood, model by model. */
export interface Oddities<Model> {
  add(model: Model): void;
  /** The sentence; undefined where all of them can be understood. */
  notice(): string | undefined;
}

/** Opens the gathering for a catalog, among the models that the pattern means. */
export const openOddities = (
  { oddFields, matcherOf }: typeof import("../../catalogs/index.ts"),
  { pattern }: Filter,
): Oddities<CatalogModel> =>
  opened({
    fieldsOf: oddFields,
    isMeant: matcherOf({ pattern }, { now: 0 }),
    what: "shown as it came and matched by no filter",
  });

/** Opens the gathering for the models that can be called. */
export const openModelOddities = (isMeant: (model: InferenceModel) => boolean): Oddities<InferenceModel> =>
  opened({ fieldsOf: mistypedNames, isMeant, what: "shown as it came" });

const opened = <Model extends Pick<InferenceModel, "id">>({
  fieldsOf,
  isMeant,
  what,
}: {
  readonly fieldsOf: (model: Model) => readonly string[];
  readonly isMeant: (model: Model) => boolean;
  /** What becomes of it. */
  readonly what: string;
}): Oddities<Model> => {
  const named: string[] = [];
  let count = 0;
  return {
    add(model) {
      const fields = fieldsOf(model);
      if (fields.length === 0 || !isMeant(model)) return;
      if (count++ < mostModels) named.push(`${nameOf(model)} (${listed(fields)})`);
    },
    notice() {
      if (count === 0) return undefined;
      const more = count > mostModels ? ` and ${count - mostModels} more` : "";
      return `not of the interface's types, ${what}: ${named.join(", ")}${more}`;
    },
  };
};

const nameOf = ({ id }: Pick<InferenceModel, "id">): string => JSON.stringify(known(id) ?? "an entry without an id");

const listed = (fields: readonly string[]): string =>
  fields.length <= mostFields
    ? fields.join(", ")
    : `${fields.slice(0, mostFields).join(", ")} and ${fields.length - mostFields} more`;
