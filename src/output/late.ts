/** What is loaded when it is needed: what only a terminal or one option asks for. */
import type { End } from "./frame/failure.ts";
import type { Picture } from "./histogram.ts";
import type { Screen } from "./screen/screen.ts";

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

/** Draws distributions below a page: on a terminal, and nowhere else. `picture` is asked for only there. */
export const printPicture = async (screen: Screen, picture: () => Picture): Promise<void> => {
  if (!screen.host.terminal.stdout || screen.format !== "table" || screen.words.quiet) return;
  const { printHistograms } = await import("./histogram.ts");
  await printHistograms(screen, picture());
};
