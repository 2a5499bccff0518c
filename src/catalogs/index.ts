/** Catalogs as values: which models are meant, what they cost, when they end. Nothing here prints or sends. */
export { type Cost, compareCosts, costOf } from "./cost.ts";
export { type Country, countryCodes, europeanUnion } from "./countries.ts";
export { dayOf, deprecationOf } from "./days.ts";
export { type Change, type Difference, diffCatalogs } from "./diff.ts";
export { amountOf, type Fact, type FactKind, factsOf } from "./facts.ts";
export { type Filter, type FilterMoment, matcherOf } from "./filter.ts";
export { frontOf, type Priced } from "./front.ts";
export { type HeldCatalog, readHeld } from "./held.ts";
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
export { likeFilter } from "./like.ts";
export type { LockFile } from "./lock-file.ts";
export { type LockedModel, lockedOf } from "./locked.ts";
export { nearestId } from "./near.ts";
export { oddFields } from "./odd.ts";
export { matchesPattern } from "./pattern.ts";
export { type CatalogName, type CatalogPlace, catalogNames } from "./place.ts";
export { placesFor, priceIn, priceNames } from "./prices.ts";
export { addUsage, noUsage, type Usage, usageOfCall, usageOfTrajectory } from "./usage.ts";
export type { LockPolicy } from "./verify.ts";
export type { Verified } from "./verify-lock.ts";
export { type LockRule, lockRuleNames, lockRules } from "./verify-rules.ts";
export {
  absentWords,
  type CountedWord,
  knownWords,
  occurringWords,
  type UnknownWord,
  unknownWord,
  type WordField,
} from "./words.ts";

/** The history's own door: its database is loaded when it is opened. */
export const historyDoor = () => import("./history.ts");

/** The door of saved catalogs: what checks them is loaded when one is read. */
export const filesDoor = () => import("./file.ts");

/** The door of lock files. */
export const lockDoor = async () => ({ ...(await import("./lock-file.ts")), ...(await import("./verify-lock.ts")) });
