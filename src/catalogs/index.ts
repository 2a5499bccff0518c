/** Filters and compares catalogs, computes costs, and checks lock files. */
export * from "./catalog-files.ts";
export * from "./cost.ts";
export * from "./diff.ts";
export * from "./fields.ts";
export * from "./filter.ts";
export { type LockedModel, readLock, toLockedModel, writeLock } from "./lock-file.ts";
export { acceptAdvice, isAcceptable, lockRules } from "./lock-rules.ts";
export * from "./rows.ts";
export { type LockDifference, verifyLock } from "./verify.ts";
