/** Values → text: what a person or a script sees. */

export type { CallAsked } from "./call/page.ts";
export { type CallPrinter, callFields, printCalls } from "./call/printer.ts";
export { printCallSummary } from "./call/summary.ts";
export { printReport, type Report, requireReportPlace } from "./frame/report.ts";
export { printDocument, printRaw } from "./json/document.ts";
export { spelledIn } from "./json/objects.ts";
export {
  drawnText,
  failureDocument,
  printFailure,
  printPicture,
} from "./late.ts";
export { printPage } from "./page/page.ts";
export { type OpenedBrowser, openBrowser } from "./screen/browser.ts";
export {
  colorWhens,
  formats,
  type ReportForm,
  reportForms,
  type ScreenWords,
  screenWords,
  type TypedScreen,
} from "./screen/options.ts";
export {
  barText,
  type Meter,
  type MeterEvent,
  type MeterForm,
  meterForms,
  type Progress,
} from "./screen/progress.ts";
export { openScreen, type Screen } from "./screen/screen.ts";
export { columnMeant } from "./table/fields.ts";
export { printList } from "./table/list.ts";
export type {
  Column,
  Format,
  Line,
  ListView,
  Mark,
  Page,
  Rows,
  Section,
  Tone,
} from "./view.ts";
export { textColumn } from "./view.ts";
