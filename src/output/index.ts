/** Values → text: what a person or a script sees. */

export type { CallAsked } from "./call/page.ts";
export {
  type CallPrinter,
  type CallPrinting,
  callFields,
  callLines,
  printCalls,
} from "./call/printer.ts";
export { type CallSummaryView, printCallSummary } from "./call/summary.ts";
export { printReport, type Report, requireReportPlace } from "./frame/report.ts";
export { printDocument, printRaw } from "./json/document.ts";
export { type SpelledObject, spelledIn } from "./json/objects.ts";
export {
  drawnText,
  failureDocument,
  openWebPage,
  printFailure,
  printPicture,
  printPlot,
  sentencesOf,
} from "./late.ts";
export { printPage } from "./page/page.ts";
export type { WebPageFile } from "./picture/web-file.ts";
export type { WebPage } from "./picture/web-page.ts";
export { type OpenedBrowser, openBrowser } from "./screen/browser.ts";
export {
  colorWhens,
  formats,
  type ReportForm,
  reportForms,
  type ScreenWords,
  screenWords,
  screenWordsOf,
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
  Plot,
  PlotPoint,
  Rows,
  Section,
  Tone,
  WireObjects,
} from "./view.ts";
export { textColumn } from "./view.ts";
export type { Sentences } from "./words/sentences.ts";
