/** Formats and prints values for people and programs. */
import type { Distributions } from "../groups/index.ts";
import type { Screen } from "./screen.ts";

export { openBrowser } from "./browser.ts";
export type { CallViewOptions } from "./call/page.ts";
export * from "./call/printer.ts";
export * from "./list.ts";
export { printPage } from "./page.ts";
export { formatBar, type Meter, meterFormats } from "./progress.ts";
export * from "./report.ts";
export * from "./screen.ts";
export * from "./views.ts";
export { findColumn, readSpelledObject, resolveField } from "./wire.ts";

export const loadFailurePrinter = () => import("./failure.ts");
export const printDistributions = async (screen: Screen, collect: () => Distributions) => {
  if (!screen.host.terminal.stdout || screen.format !== "table" || screen.options.quiet) return;
  await (await import("./histogram.ts")).printHistograms(screen, collect());
};
