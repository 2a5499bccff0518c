/** Says once what a list holds that is not of the interface's types. */

import { withoutNulls } from "../../contract/entries.ts";
import { type Entries, known } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { counted } from "../../counted.ts";
import type { Screen } from "../../output/index.ts";

/** Models that are named in one sentence, and fields of each. */
const mostModels = 3;
const mostFields = 6;

/** Gathers mistyped fields, model by model. */
interface Mistypings<Model> {
  add(model: Model): void;
  /** Says which there are. */
  tell(screen: Screen): void;
}

/** Opens the gathering, among the models that are meant. */
export const openMistypings = <Model extends Pick<InferenceModel, "id">>({
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
    tell(screen) {
      if (count === 0) return;
      const more = count > mostModels ? ` and ${count - mostModels} more` : "";
      screen.notice(`not of the interface's types, ${what}: ${named.join(", ")}${more}`);
    },
  };
};

const nameOf = ({ id }: Pick<InferenceModel, "id">): string => JSON.stringify(known(id) ?? "an entry without an id");

const cutOff = (names: readonly string[], most: number): string =>
  names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;

/** The bytes of a list without what is `null` in it, which is told, so that its entries stand where they are counted. */
export const withoutNullEntries = (
  screen: Screen,
  { entries, bytes, where }: { readonly entries: Entries<unknown>; readonly bytes: Uint8Array; readonly where: string },
): Uint8Array => {
  const { nulls = 0 } = entries;
  if (nulls === 0) return bytes;
  screen.notice(`${counted(nulls, "entry", "entries")} of ${where} ${nulls === 1 ? "is" : "are"} null, and left out`);
  return withoutNulls(bytes, "data");
};
