/** What is loaded when it is needed: the words of what went wrong, and what only a terminal or one option asks for. */
import type { Failure } from "../failure.ts";
import type { End } from "./frame/failure.ts";
import type { Picture } from "./picture/histogram.ts";
import type { WebPageFile } from "./picture/web-file.ts";
import type { Screen } from "./screen/screen.ts";
import type { Plot } from "./view.ts";
import type { Sentences } from "./words/sentences.ts";

/** Prints what a run ended with. */
export const printFailure = async (screen: Screen, end: End): Promise<void> =>
  await (await import("./frame/failure.ts")).printFailure(screen, end);

/** The document of a failure, as a program is given it. */
export const failureDocument = async (screen: Screen, end: End): Promise<unknown> =>
  (await import("./frame/failure.ts")).failureDocument(screen, end);

/** What a person at a terminal is told of a problem, without colour; `indent` columns are left to whoever prints it. */
export const drawnText = async (...asked: Parameters<Drawn>): Promise<string> =>
  (await import("./frame/failure.ts")).drawnText(...asked);
type Drawn = typeof import("./frame/failure.ts").drawnText;

/** What a failure says: what happened, and what to do. Text from outside in it is not made safe yet. */
export const sentencesOf = async (failure: Failure): Promise<Sentences> =>
  (await import("./words/all.ts")).sentencesOf(failure);

/** Draws distributions below a page: on a terminal, and nowhere else. `picture` is asked for only there. */
export const printPicture = async (screen: Screen, picture: () => Picture): Promise<void> => {
  if (!screen.host.terminal.stdout || screen.format !== "table" || screen.words.quiet) return;
  const { printHistograms } = await import("./picture/histogram.ts");
  await printHistograms(screen, picture());
};

/** Draws a plot on a terminal, or, where a table was asked for, as wide as one is elsewhere. */
export const printPlot = async (screen: Screen, plot: Plot): Promise<void> =>
  await (await import("./picture/plot.ts")).printPlot(screen, plot);

/**
 * Opens the file of a web page that `--html` of a command names, which is written as a whole.
 * @throws Failure `option-value-wrong` where it names no file, `page-exists` where something stands there that rollcall did not write, `page-unwritable`
 */
export const openWebPage = async (screen: Screen, file: string, by: string): Promise<WebPageFile> =>
  (await import("./picture/web-file.ts")).openWebPage(screen, file, by);
