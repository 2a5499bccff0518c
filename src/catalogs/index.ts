/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */
export { type CatalogName, type CatalogPlace, catalogNames } from "./catalog-names.ts";
export { type CatalogCopy, idsOfCopies, keepCatalog, readCopy } from "./copies.ts";
export { type Cost, compareCosts, costOf } from "./cost.ts";
export { dayOf, deprecationOf } from "./deprecation.ts";
export { type Change, type Difference, diffCatalogs } from "./diff.ts";
export { columnsFiltered, type Filter, matcherOf } from "./filter.ts";
export { absentWords, optionOf, type UnknownWord, unknownWord, type WordField, wordFilters } from "./filter-words.ts";
export { saveCatalog, savedCatalogAt } from "./history.ts";
export {
  callableIn,
  type JoinedRow,
  joinedById,
  joinedDocument,
  joinedMatcher,
  type Listed,
  listedIn,
  rowsDocument,
  unlistedIn,
} from "./joined.ts";
export { type LockedModel, type LockFile, lockedOf, readLock, writeLock } from "./lock.ts";
export { type LockPolicy, lockRuleNames, lockRules } from "./lock-rules.ts";
export { acceptAdvice, type Verified, verifyLock } from "./lock-verify.ts";
export { mistypedFields } from "./mistyped.ts";
export { matchesPattern, nearestId } from "./model-ids.ts";
export { priceCell, priceText } from "./price-text.ts";
export { amountOf, namedPrices, placesFor, priceAt, priceIn, pricesOfToken } from "./prices.ts";
export { readCatalogFile } from "./saved-file.ts";
export { noUsage, type Usage, usageOfCall } from "./usage.ts";
