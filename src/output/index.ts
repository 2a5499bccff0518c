/** Values → text: what a person or a script sees. */

import type { Failure } from "../failure.ts";
import type { CallSummaryView } from "./page/call-summary.ts";
import type { CallPrinter, CallPrinting } from "./page/calls.ts";
import type { Screen } from "./screen/screen.ts";
import type { Sentences } from "./words/sentences.ts";

export { type SpelledObject, spelledIn } from "./json/wire.ts";
export type { CallSummaryView } from "./page/call-summary.ts";
export { type CallAsked, type CallPrinter, type CallPrinting, callFields } from "./page/calls.ts";
export type { Plot, PlotPoint } from "./picture/plot-area.ts";
export { barText, type Meter, type MeterEvent, type MeterForm, meterForms } from "./screen/meter.ts";
export {
  formats,
  type ReportForm,
  reportForms,
  type ScreenWords,
  screenWords,
  screenWordsOf,
  type TypedScreen,
} from "./screen/options.ts";
export type { Progress } from "./screen/progress.ts";
export { openScreen, type Screen } from "./screen/screen.ts";
export type { Column, Format, Line, ListView, Mark, Page, Rows, Section, Tone, WireObjects } from "./view.ts";
export type { Sentences } from "./words/sentences.ts";

/** What a failure says: what happened, and what to do. Text from outside in it is not made safe yet. */
export const sentencesOf = async (failure: Failure): Promise<Sentences> =>
  (await import("./words/all.ts")).sentencesOf(failure);

export type { WebPage } from "./picture/web-page.ts";

/** Prints traced calls. */
export const printCalls = async (printing: CallPrinting): Promise<CallPrinter> => {
  const { callPrinter } = await import("./page/call-printer.ts");
  return callPrinter(printing);
};

/** Prints the summary of calls. */
export const printCallSummary = async (screen: Screen, view: CallSummaryView): Promise<void> => {
  const { printSummary } = await import("./page/call-summary.ts");
  await printSummary(screen, view);
};
