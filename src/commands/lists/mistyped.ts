/** Says once what a list holds that is not of the interface's types. */
import type { CatalogModel } from "../../contract/catalog.ts";
import { known, mistypedNames } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";

/** Models that are named in one sentence, and fields of each. */
const mostModels = 3;
const mostFields = 6;

/** Gathers mistyped fields, model by model. */
export interface Mistypings<Model> {
  add(model: Model): void;
  /** The sentence; undefined where all fields are of their types. */
  notice(): string | undefined;
}

/** Opens the gathering for a catalog, among the models that are meant. */
export const openMistypedEntries = (
  fieldsOf: (model: CatalogModel) => readonly string[],
  isMeant: (model: CatalogModel) => boolean,
): Mistypings<CatalogModel> => opened({ fieldsOf, isMeant, what: "shown as it came and matched by no filter" });

/** Opens the gathering for the models that can be called. */
export const openMistypedModels = (isMeant: (model: InferenceModel) => boolean): Mistypings<InferenceModel> =>
  opened({ fieldsOf: mistypedNames, isMeant, what: "shown as it came" });

const opened = <Model extends Pick<InferenceModel, "id">>({
  fieldsOf,
  isMeant,
  what,
}: {
  readonly fieldsOf: (model: Model) => readonly string[];
  readonly isMeant: (model: Model) => boolean;
  /** What becomes of the values. */
  readonly what: string;
}): Mistypings<Model> => {
  const named: string[] = [];
  let count = 0;
  return {
    add(model) {
      const fields = fieldsOf(model);
      if (fields.length === 0 || !isMeant(model)) return;
      if (count++ < mostModels) named.push(`${nameOf(model)} (${cutOff(fields, mostFields)})`);
    },
    notice() {
      if (count === 0) return undefined;
      const more = count > mostModels ? ` and ${count - mostModels} more` : "";
      return `not of the interface's types, ${what}: ${named.join(", ")}${more}`;
    },
  };
};

const nameOf = ({ id }: Pick<InferenceModel, "id">): string => JSON.stringify(known(id) ?? "an entry without an id");

const cutOff = (names: readonly string[], most: number): string =>
  names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
