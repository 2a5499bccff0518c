/** Values → text: what a person or a script sees. */
import type { End } from "./failure.ts";
import type { Picture } from "./histogram.ts";
import type { Screen } from "./screen.ts";

export { type OpenedBrowser, openBrowser } from "./browser.ts";
export type { CallAsked } from "./call/page.ts";
export { callFields, printCallSummary, printCalls } from "./call/printer.ts";

export { printDocument, printList, printRaw } from "./list.ts";
export { printPage } from "./page.ts";
export { barText, type Meter, meterForms, type Progress } from "./progress.ts";
export { printReport, type Report, type ReportForm, reportForms, requireReportPlace } from "./report.ts";
export {
  colorWhens,
  formats,
  openScreen,
  type Screen,
  type ScreenWords,
  screenWords,
  type TypedScreen,
} from "./screen.ts";
export type { Column, Format, Line, Mark, Page, Rows, Section } from "./view.ts";
export { textColumn } from "./view.ts";
export { columnMeant, spelledIn } from "./wire.ts";

// What only a terminal or one option asks for is loaded when it is needed.

/** Prints the failure of a run. */
export const printFailure = async (screen: Screen, end: End): Promise<void> =>
  await (await import("./failure.ts")).printFailure(screen, end);

/** The document of a failure, as a program is given it. */
export const failureDocument = async (screen: Screen, end: End): Promise<unknown> =>
  (await import("./failure.ts")).failureDocument(screen, end);

/** The text of a problem on a terminal, without color; `indent` columns are left to whoever prints it. */
export const drawnText = async (...asked: Parameters<Drawn>): Promise<string> =>
  (await import("./failure.ts")).drawnText(...asked);
type Drawn = typeof import("./failure.ts").drawnText;

/** Draws distributions below a page, on a terminal alone: only there `picture` is asked for. */
export const printPicture = async (screen: Screen, picture: () => Picture): Promise<void> => {
  if (!screen.host.terminal.stdout || screen.format !== "table" || screen.words.quiet) return;
  const { printHistograms } = await import("./histogram.ts");
  await printHistograms(screen, picture());
};
