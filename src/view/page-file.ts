/** The file that `view --html` writes: whole or not at all, and never over a file that rollcall did not write. */

import { closeSync, openSync, readSync, statSync } from "node:fs";
import { Failure } from "../failure.ts";
import { optionValueWrong } from "../failures.ts";
import { codeOf, writeWhole } from "../files.ts";
import { pageExists, pageUnwritable } from "./failures.ts";

/** The beginning of every page that rollcall wrote, and may write again. */
const pageMark = "<!doctype html>\n<!-- a page by rollcall ";

/** Makes sure that a page may be written to a file. @throws Failure `option-value-wrong`, `page-exists`, `page-unwritable` */
export const requirePageFile = (file: string): void => {
  if (file === "" || file === "-") {
    const wanted = "the name of a file, such as page.html";
    throw optionValueWrong({ option: "--html", value: file, wanted });
  }
  tryFile(file, () => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && !(stats.isFile() && isOwn(file))) throw pageExists(file);
  });
};

/**
 * Writes a document, which is given without its first line. The umask narrows `mode`. Returns its size in bytes.
 * @throws Failure `page-exists`, `page-unwritable`
 */
export const writePageFile = (file: string, pieces: readonly string[], mode: number): number => {
  const all = [`${pageMark}view -->\n`, ...pieces];
  requirePageFile(file);
  tryFile(file, () => writeWhole(file, all, mode));
  return all.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
};

const isOwn = (file: string): boolean => {
  const opened = openSync(file, "r");
  try {
    const head = Buffer.alloc(pageMark.length);
    return readSync(opened, head, 0, head.length, 0) === head.length && head.toString("latin1") === pageMark;
  } finally {
    closeSync(opened);
  }
};

const tryFile = (file: string, run: () => void): void => {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof Failure || codeOf(thrown) === "unknown") throw thrown;
    throw pageUnwritable(file, codeOf(thrown));
  }
};
