/** What a catalog holds that can't be understood: shown as it came, matched by no filter, and said once. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known, Mistyped, mistypedNames } from "../contract/fields.ts";
import { deprecationOf } from "./deprecation.ts";
import { priceIn, priceNames, pricesOfToken } from "./prices.ts";

/** A model's fields that can't be understood, as dotted names. */
export const mistypedFields = (model: CatalogModel): readonly string[] => [
  ...mistypedNames(model),
  ...wrongPrices(model),
  ...wrongCountries(model),
  ...wrongDate(model),
];

/** Prices of this meaning that are no decimal number, or below zero. Others may hold what they like. */
const judgedPrices = [...new Set<string>([...priceNames, ...pricesOfToken])];

const wrongPrices = ({ pricing }: CatalogModel): readonly string[] => {
  const prices = known(pricing);
  if (prices === undefined) return [];
  return judgedPrices.flatMap((name) => {
    const isStated = Object.hasOwn(prices, name) && prices[name] !== null && prices[name] !== undefined;
    return isStated && priceIn(prices, name) === undefined ? [`pricing.${name}`] : [];
  });
};

const wrongCountries = ({ datacenters }: CatalogModel): readonly string[] =>
  (known(datacenters) ?? []).some(({ country_code }) => country_code instanceof Mistyped)
    ? ["datacenters.country_code"]
    : [];

const wrongDate = (model: CatalogModel): readonly string[] =>
  deprecationOf(model) === undefined && !(model.deprecation_date instanceof Mistyped) ? ["deprecation_date"] : [];
