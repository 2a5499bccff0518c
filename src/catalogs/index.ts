/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */

export {
  type CachedCatalog as CatalogCopy,
  type CatalogId as CatalogPlace,
  type CatalogName,
  cacheCatalog as keepCatalog,
  catalogNames,
  findSavedCatalog as savedCatalogAt,
  listCachedIds as idsOfCopies,
  parseCatalog as modelsIn,
  readCachedCatalog as readCopy,
  readCatalogFile,
  saveCatalog,
} from "./catalog-files.ts";
export {
  type Cost,
  compareCosts,
  computeCost as costOf,
  noUsage,
  readCallUsage as usageOfCall,
  type Usage,
} from "./cost.ts";
export { diffCatalogs } from "./diff.ts";
export {
  catalogFields,
  deprecationDay as deprecationOf,
  findMistypedFields as mistypedFields,
  formatPlain as plainText,
  formatPrice as priceText,
  namedPrices,
  parseAmount as amountOf,
  priceField,
  tokenPrices,
} from "./fields.ts";
export {
  createMatcher as matcherOf,
  type Filter,
  filteredColumns as columnsFiltered,
  findAbsentWords as absentWords,
  findUnknownWord as unknownWord,
  hasFilters as asksMore,
  usualWords,
} from "./filter.ts";
export { type LockedModel, type LockFile, readLock, toLockedModel as lockedOf, writeLock } from "./lock.ts";
export {
  compareCodeUnits as byCodeUnit,
  compilePattern as matchesPattern,
  findNearestId as nearestId,
  modelFields,
  utcDay as dayOf,
} from "./models.ts";
export {
  type CatalogEntry as Listed,
  type CatalogRow,
  cellsDocument,
  createRowMatcher as rowMatcherOf,
  findUnlistedModels as unlistedIn,
  joinById as joinedById,
  joinCatalogs as listedIn,
  rowsDocument,
} from "./rows.ts";
export {
  acceptAdvice,
  type LockPolicy,
  lockRuleNames,
  lockRulePages,
  type VerifiedFact as Verified,
  verifyLock,
} from "./verify.ts";
