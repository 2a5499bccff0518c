/** Writes a web page to its file: whole or not at all, and never over what rollcall did not write. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { Failure } from "../../failure.ts";
import { codeOf, writeWhole } from "../../files.ts";
import type { Screen } from "../screen/screen.ts";
import { type WebPage, webPagePieces } from "./web-page.ts";

/** The file of a page. */
export interface WebPageFile {
  /** Writes a list and its plot. @throws Failure `page-exists`, `page-unwritable` */
  write<Row>(page: WebPage<Row>): void;
  /** Writes a document, without its first line, in which everything was made safe; gives its size in bytes. @throws Failure `page-exists`, `page-unwritable` */
  writePieces(pieces: readonly string[]): number;
}

/** The beginning of every page that rollcall wrote, which it may write anew. */
const pageMark = "<!doctype html>\n<!-- a page by rollcall ";

/**
 * Opens the file of a web page that `--html` of a command names, which is written as a whole.
 * @throws Failure `option-value-wrong` where it names no file, `page-exists` where something stands there that rollcall did not write, `page-unwritable`
 */
export const openWebPage = ({ safe }: Screen, file: string, by: string): WebPageFile => {
  requireFileName(file);
  requirePlace(file);
  const head = `${pageMark}${by} -->\n`;
  return {
    // Everybody may read a page of what public catalogs say.
    write: (page) => writePage(file, behind(head, webPagePieces(page, safe)), 0o644),
    writePieces: (pieces) => {
      const all = [head, ...pieces];
      writePage(file, all, 0o666);
      return all.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    },
  };
};

function* behind(head: string, pieces: Iterable<string>): Generator<string, void> {
  yield head;
  yield* pieces;
}

/** @throws Failure `option-value-wrong` where it names no file: a page is no output that a program reads */
const requireFileName = (value: string): void => {
  if (value !== "" && value !== "-") return;
  const wanted = "the name of a file, such as page.html";
  throw new Failure("option-value-wrong", { option: "--html", value, wanted });
};

/** Makes sure that a page may be written there. @throws Failure `page-exists`, `page-unwritable` */
const requirePlace = (file: string): void =>
  writing(file, () => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && !(stats.isFile() && isOwn(file))) throw new Failure("page-exists", { file });
  });

const isOwn = (file: string): boolean => {
  const opened = openSync(file, "r");
  try {
    const head = Buffer.alloc(pageMark.length);
    return readSync(opened, head, 0, head.length, 0) === head.length && head.toString("latin1") === pageMark;
  } finally {
    closeSync(opened);
  }
};

/** Writes a page in place of one of its own. @throws Failure `page-exists`, `page-unwritable` */
const writePage = (file: string, pieces: Iterable<string>, mode: number): void => {
  requirePlace(file);
  writing(file, () => writeWhole(file, pieces, mode));
};

const writing = <Value>(file: string, run: () => Value): Value => {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof Failure || codeOf(thrown) === "unknown") throw thrown;
    throw new Failure("page-unwritable", { file, code: codeOf(thrown) });
  }
};
