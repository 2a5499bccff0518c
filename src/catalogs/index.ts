/** Catalogs as values: filters, prices, differences and lock files. Nothing here prints or sends. */
export {
  type CatalogId,
  type CatalogName,
  cacheCatalog,
  catalogNames,
  findSavedCatalog,
  listCachedIds,
  maxSavedReplies,
  parseCatalog,
  readCachedCatalog,
  readCatalogFile,
  saveCatalog,
} from "./catalog-files.ts";
export { type Cost, compareCosts, computeCost, noUsage, readCallUsage, type Usage } from "./cost.ts";
export { type Change, diffCatalogs } from "./diff.ts";
export {
  catalogFields,
  dayMs,
  deprecationDay,
  findMistypedFields,
  formatPercentChange,
  formatPlain,
  formatPrice,
  modelFields,
  namedPrices,
  parseAmount,
  priceField,
  statedPrices,
  tokenPrices,
  utcDay,
} from "./fields.ts";
export { createMatcher, type Filter, filteredColumns, findUnknownWord, hasFilters, usualWords } from "./filter.ts";
export { type LockedModel, readLock, toLockedModel, writeLock } from "./lock.ts";
export { compareCodeUnits, compilePattern, findNearestId } from "./models.ts";
export {
  type CatalogEntry,
  type CatalogRow,
  cellsDocument,
  createRowMatcher,
  joinById,
  joinCatalogs,
  rowsDocument,
} from "./rows.ts";
export { acceptAdvice, isAcceptable, lockRules, type VerifiedFact, verifyLock } from "./verify.ts";
