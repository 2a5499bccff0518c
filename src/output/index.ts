/** Values → text: what a person or a script sees. */

import type { Failure } from "../failure.ts";
import type { CallSummaryView } from "./call-summary.ts";
import type { CallPrinter, CallPrinting } from "./calls.ts";
import type { Screen } from "./screen.ts";
import type { Sentences } from "./words/sentences.ts";

export type { CallSummaryView } from "./call-summary.ts";
export { type CallAsked, type CallPrinter, type CallPrinting, callFields } from "./calls.ts";
export { barText, type Meter, type MeterEvent, type MeterForm, meterForms } from "./meter.ts";
export {
  formats,
  type ReportForm,
  reportForms,
  type ScreenWords,
  screenWords,
  screenWordsOf,
  type TypedScreen,
} from "./options.ts";
export type { Plot, PlotPoint } from "./plot-area.ts";
export type { Progress } from "./progress.ts";
export { openScreen, type Screen } from "./screen.ts";
export type { Column, Format, Line, ListView, Mark, Page, Rows, Section, Tone, WireObjects } from "./view.ts";
export { type SpelledObject, spelledIn } from "./wire.ts";
export type { Sentences } from "./words/sentences.ts";

/** What a failure says: what happened, and what to do. Text from outside in it is not made safe yet. */
export const sentencesOf = async (failure: Failure): Promise<Sentences> =>
  (await import("./words/all.ts")).sentencesOf(failure);

export type { WebPage } from "./web-page.ts";

/** Prints traced calls. */
export const printCalls = async (printing: CallPrinting): Promise<CallPrinter> => {
  const { callPrinter } = await import("./call-printer.ts");
  return callPrinter(printing);
};

/** Prints the summary of calls. */
export const printCallSummary = async (screen: Screen, view: CallSummaryView): Promise<void> => {
  const { printSummary } = await import("./call-summary.ts");
  await printSummary(screen, view);
};
