/** Catalogs as values: filters, prices, differences and lock files. Nothing here prints or sends. */
export {
  type CachedCatalog,
  type CatalogId,
  type CatalogName,
  cacheCatalog,
  catalogNames,
  findSavedCatalog,
  listCachedIds,
  parseCatalog,
  readCachedCatalog,
  readCatalogFile,
  saveCatalog,
} from "./catalog-files.ts";
export { type Cost, compareCosts, computeCost, noUsage, readCallUsage, type Usage } from "./cost.ts";
export { diffCatalogs } from "./diff.ts";
export {
  catalogFields,
  deprecationDay,
  findMistypedFields,
  formatPercentChange,
  formatPlain,
  formatPrice,
  namedPrices,
  parseAmount,
  priceField,
  tokenPrices,
} from "./fields.ts";
export { createMatcher, type Filter, filteredColumns, findUnknownWord, hasFilters, usualWords } from "./filter.ts";
export { type LockedModel, type LockFile, readLock, toLockedModel, writeLock } from "./lock.ts";
export { compareCodeUnits, compilePattern, dayMs, findNearestId, modelFields, utcDay } from "./models.ts";
export {
  type CatalogEntry,
  type CatalogRow,
  cellsDocument,
  createRowMatcher,
  joinById,
  joinCatalogs,
  rowsDocument,
} from "./rows.ts";
export { acceptAdvice, type LockPolicy, lockRules, type VerifiedFact, verifyLock } from "./verify.ts";
