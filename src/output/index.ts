/** Values → text: what a person or a script sees. */
import type { RunEnd } from "./failure.ts";
import type { Distributions } from "./histogram.ts";
import type { Screen } from "./screen.ts";

export { type OpenedBrowser, openBrowser } from "./browser.ts";
export type { CallViewOptions } from "./call/page.ts";
export { callFields, openCallPrinter, printCallSummary } from "./call/printer.ts";

export { printDocument, printList, printRaw } from "./list.ts";
export { printPage } from "./page.ts";
export {
  formatBar,
  type Meter,
  meterFormats,
  type ProgressIndicator,
} from "./progress.ts";
export {
  printReport,
  type Report,
  type ReportFormat,
  reportFormats,
  requireReportFile,
} from "./report.ts";
export {
  colorModes,
  formats,
  openScreen,
  parseScreenOptions,
  type Screen,
  type ScreenOptions,
  type TypedScreenOptions,
} from "./screen.ts";
export type { CellTag, Column, Format, Line, Page, RowSequence, Section } from "./views.ts";
export { textColumn } from "./views.ts";
export { findColumn, readSpelledObject } from "./wire.ts";

// What only a terminal or one option asks for is loaded when it is needed.

/** Prints the failure of a run. */
export const printFailure = async (screen: Screen, end: RunEnd): Promise<void> =>
  await (await import("./failure.ts")).printFailure(screen, end);

/** The document of a failure, as a program is given it. */
export const failureDocument = async (screen: Screen, end: RunEnd): Promise<unknown> =>
  (await import("./failure.ts")).failureDocument(screen, end);

/** The text of a problem on a terminal, without color; `indent` columns are left to whoever prints it. */
export const drawnText = async (...asked: Parameters<RenderProblem>): Promise<string> =>
  (await import("./failure.ts")).renderProblem(...asked);
type RenderProblem = typeof import("./failure.ts").renderProblem;

/** Draws distributions below a page, on a terminal alone: only there `picture` is asked for. */
export const printDistributions = async (screen: Screen, picture: () => Distributions): Promise<void> => {
  if (!screen.host.terminal.stdout || screen.format !== "table" || screen.options.quiet) return;
  const { printHistograms } = await import("./histogram.ts");
  await printHistograms(screen, picture());
};
