/** Formats and prints values for people and programs. */
export { openBrowser } from "./browser.ts";
export * from "./ci-report.ts";
export * from "./list.ts";
export { formatTable, quoteCode } from "./markdown.ts";
export { printPage, requirePage } from "./page.ts";
export { formatBar, type Meter, meterFormats } from "./progress.ts";
export * from "./screen.ts";
export * from "./views.ts";
export { findColumn, readSpelledObject, resolveField } from "./wire.ts";

export const loadFailurePrinter = () => import("./print-failure.ts");
