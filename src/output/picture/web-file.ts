/** Writes a web page to its file: whole or not at all, and never over what rollcall did not write. */
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, realpathSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { Failure } from "../../failure.ts";
import { pageMark } from "./web-page.ts";

/** Makes sure that a page may be written there. @throws Failure `page-exists`, `page-unwritable` */
export const requirePlace = (file: string): void =>
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

/** Everybody may read a page: it holds what public catalogs say. */
const mode = 0o644;

/** Writes a page in place of one of its own. @throws Failure `page-exists`, `page-unwritable` */
export const writePage = (file: string, pieces: Iterable<string>): void => {
  requirePlace(file);
  writing(file, () => {
    // What a link leads to is written anew, and the link stays.
    const place = statSync(file, { throwIfNoEntry: false }) === undefined ? file : realpathSync(file);
    const draft = `${place}.${randomUUID()}`;
    try {
      const opened = openSync(draft, "wx", mode);
      try {
        for (const piece of pieces) writeWhole(opened, Buffer.from(piece));
      } finally {
        closeSync(opened);
      }
      renameSync(draft, place);
    } catch (thrown) {
      rmSync(draft, { force: true });
      throw thrown;
    }
  });
};

const writeWhole = (opened: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; ) at += writeSync(opened, bytes, at);
};

const writing = <Value>(file: string, run: () => Value): Value => {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof Failure || !(thrown instanceof Error) || !("code" in thrown)) throw thrown;
    throw new Failure("page-unwritable", { file, code: String(thrown.code) });
  }
};
