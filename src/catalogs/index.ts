/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */
export { type Country, countryCodes, europeanUnion, isCountryCode } from "./countries.ts";
export { dayOf, deprecationOf } from "./days.ts";
export { type Filter, type FilterMoment, matcherOf } from "./filter.ts";
export { matchesPattern } from "./pattern.ts";
export { placesFor, priceIn, priceNames } from "./prices.ts";
