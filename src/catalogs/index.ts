/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */

export { frontOf, type Priced } from "./best-value.ts";
export { type CatalogName, type CatalogPlace, catalogNames } from "./catalog-names.ts";
export { type HeldCatalog, readHeld } from "./copies.ts";
export { type Cost, compareCosts, costOf } from "./cost.ts";
export { type Country, countryCodes, europeanUnion } from "./countries.ts";
export { dayOf, deprecationOf } from "./deprecation.ts";
export { type Change, type Difference, diffCatalogs } from "./diff.ts";
export { amountOf, type Fact, type FactKind, factsOf } from "./facts.ts";
export { type Filter, type FilterMoment, likeFilter, matcherOf, type WordField } from "./filter.ts";
export {
  absentWords,
  type CountedWord,
  knownWords,
  occurringWords,
  type UnknownWord,
  unknownWord,
} from "./filter-words.ts";
export { heldIds } from "./held-ids.ts";
export {
  type Callable,
  type CatalogReply,
  callableIn,
  changed,
  type JoinedRow,
  joinedById,
  joinedDocument,
  joinedMatcher,
  type Listed,
  listedIn,
  rowsDocument,
  type Spelling,
  unlistedIn,
} from "./joined.ts";
export { type FetchedCatalog, keepCatalog } from "./keep.ts";
export { type LockedModel, lockedOf } from "./lock/facts.ts";
export type { LockFile } from "./lock/file.ts";
export type { LockPolicy } from "./lock/findings.ts";
export type { Verified } from "./lock/verify.ts";
export { matchesPattern } from "./model-ids.ts";
export { nearestId } from "./near.ts";
export { oddFields } from "./odd.ts";
export { placesFor, priceIn, priceNames } from "./prices.ts";
export { addUsage, noUsage, type Usage, usageOfCall, usageOfTrajectory } from "./usage.ts";
export { type LockRule, lockRuleNames, lockRules } from "./verify-rules.ts";

/** The history's own door: its database is loaded when it is opened. */
export const historyDoor = () => import("./history.ts");

/** The door of saved catalogs: what checks them is loaded when one is read. */
export const filesDoor = () => import("./saved-file.ts");

/** The door of lock files. */
export const lockDoor = async () => ({ ...(await import("./lock/file.ts")), ...(await import("./lock/verify.ts")) });
