/** Finds the differences between two catalogs. */
import type { CatalogModel } from "../contract/models.ts";
import { toText } from "../contract/replies.ts";
import { formatDecimal } from "../decimal.ts";
import { ignoreErrors } from "../files.ts";
import { countryField, listStatedPrices, parseAmount, priceNames, readField, toStatedFact } from "./fields.ts";
import { groupById } from "./rows.ts";

/** If only one catalog has the model, `change` is `added` or `gone`, and `field` is null. */
export type Change = Readonly<
  Record<"name" | "field", string | null> &
    Record<"from" | "to", unknown> & {
      id: string;
      change: "added" | "gone" | "price" | (typeof otherFields)[number][1];
    }
>;

/** Pairs models with the same id in catalog order. A part of a catalog does not prove that a model is missing. */
export const diffCatalogs = (
  from: readonly CatalogModel[],
  to: readonly CatalogModel[],
  isPartial: Readonly<{ from?: boolean; to?: boolean }> = {},
) => {
  const [before, after] = [groupById(from, ({ id }) => id), groupById(to, ({ id }) => id)];
  const ids = [...new Set([...before.keys(), ...after.keys()])].sort();
  const compared = ids.flatMap((id) => {
    const [older = [], newer = []] = [before.get(id), after.get(id)];
    const longer = older.length > newer.length ? older : newer;
    return longer.map((_, at) => compareModels(id, older[at], newer[at]));
  });
  const isProven = ({ change }: Change) =>
    !(isPartial.to && change === "gone") && !(isPartial.from && change === "added");
  const same = compared.filter((changes) => changes.length === 0).length;
  const without_id = [...from, ...to].filter(({ id }) => toText(id) === undefined).length;
  return { changes: compared.flat().filter(isProven), models: { from: from.length, to: to.length, same, without_id } };
};

const compareModels = (id: string, older?: CatalogModel, newer?: CatalogModel): readonly Change[] => {
  const name = toText(newer?.name) ?? toText(older?.name) ?? null;
  if (!older || !newer) return [{ id, name, change: older ? "gone" : "added", field: null, from: null, to: null }];
  const prices = new Set([older, newer].flatMap(({ pricing }) => [...listStatedPrices(pricing).keys()]));
  const priceFields = [...new Set([...priceNames, ...prices])].map((price) => [`pricing.${price}`, "price"] as const);
  return [...priceFields, ...otherFields].flatMap(([field, change]): readonly Change[] => {
    const toFact = change === "price" ? toPrice : toOtherFact;
    const from = toFact(toWritable(readField(older, field)));
    const to = toFact(toWritable(readField(newer, field)));
    return from.key === to.key ? [] : [{ id, name, change, field, from: from.value, to: to.value }];
  });
};

/** The compared fields without the prices, with the kind of a change. */
const otherFields = [
  ["context_length", "context"],
  ["max_output_length", "output"],
  ["quantization", "quantization"],
  ["input_modalities", "modalities"],
  ["output_modalities", "modalities"],
  ["supported_features", "features"],
  ["supported_sampling_parameters", "parameters"],
  [countryField, "countries"],
  ["deprecation_date", "deprecation"],
] as const;

const toWritable = (value: unknown = null) =>
  ignoreErrors(() => JSON.stringify(value)) === undefined ? "(nested too deeply)" : value;

const toPrice = (value: unknown) => {
  const amount = parseAmount(value);
  return { value, key: amount ? formatDecimal(amount) : JSON.stringify(value) };
};

const toOtherFact = (value: unknown) => {
  const stated = toStatedFact(value) ?? null;
  const distinct = Array.isArray(value) ? [...new Set(value)] : value;
  return { value: stated === null ? null : distinct, key: JSON.stringify(stated) };
};
