/** Filters and compares catalogs, and computes costs. */
export * from "./catalog-files.ts";
export * from "./cost.ts";
export * from "./diff.ts";
export * from "./fields.ts";
export * from "./filter.ts";
export * from "./rows.ts";
