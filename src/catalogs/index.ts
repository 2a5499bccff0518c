/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */
export { type Cost, compareCosts, costOf, noUsage, type Usage, usageOfCall } from "./cost.ts";
export { diffCatalogs } from "./diff.ts";
export {
  amountOf,
  catalogFields,
  deprecationOf,
  mistypedFields,
  namedPrices,
  plainText,
  priceField,
  priceText,
  tokenPrices,
} from "./fields.ts";
export {
  absentWords,
  asksMore,
  columnsFiltered,
  type Filter,
  matcherOf,
  unknownWord,
  usualWords,
} from "./filter.ts";
export { type LockedModel, type LockFile, lockedOf, readLock, writeLock } from "./lock.ts";
export { byCodeUnit, dayOf, matchesPattern, modelFields, nearestId } from "./models.ts";
export {
  type CatalogRow,
  cellsDocument,
  joinedById,
  type Listed,
  listedIn,
  rowMatcherOf,
  rowsDocument,
  unlistedIn,
} from "./rows.ts";
export {
  type CatalogCopy,
  type CatalogName,
  type CatalogPlace,
  catalogNames,
  idsOfCopies,
  keepCatalog,
  modelsIn,
  readCatalogFile,
  readCopy,
  saveCatalog,
  savedCatalogAt,
} from "./saved.ts";
export {
  acceptAdvice,
  type LockPolicy,
  lockRuleNames,
  lockRulePages,
  type Verified,
  verifyLock,
} from "./verify.ts";
