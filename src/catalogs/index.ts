/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */

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
export {
  type Cost,
  compareCosts,
  computeCost,
  noUsage,
  readCallUsage,
  type Usage,
} from "./cost.ts";
export { diffCatalogs } from "./diff.ts";
export {
  catalogFields,
  deprecationDay,
  findMistypedFields,
  formatPlain,
  formatPrice,
  namedPrices,
  parseAmount,
  priceField,
  tokenPrices,
} from "./fields.ts";
export {
  createMatcher,
  type Filter,
  filteredColumns,
  findAbsentWords,
  findUnknownWord,
  hasFilters,
  usualWords,
} from "./filter.ts";
export { type LockedModel, type LockFile, readLock, toLockedModel, writeLock } from "./lock.ts";
export {
  compareCodeUnits,
  compilePattern,
  findNearestId,
  modelFields,
  utcDay,
} from "./models.ts";
export {
  type CatalogEntry,
  type CatalogRow,
  cellsDocument,
  createRowMatcher,
  findUnlistedModels,
  joinById,
  joinCatalogs,
  rowsDocument,
} from "./rows.ts";
export {
  acceptAdvice,
  type LockPolicy,
  lockRuleNames,
  lockRulePages,
  type VerifiedFact,
  verifyLock,
} from "./verify.ts";
