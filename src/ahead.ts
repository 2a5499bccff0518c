/** Starts ahead what takes long to start: the thread that helps to read a large file, while the program itself still loads. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";

/** A thread that was started ahead, if there is one. */
export interface Ahead {
  /** Hands it over to whoever ends it then. */
  take(): Worker | undefined;
  /** Ends it where nobody took it. */
  close(): void;
}

/** The smallest file that is worth another thread: one starts in the time in which another reads so many bytes, about. */
export const leastBytesToShare = 2 ** 24;

/** The program of a thread that helps with reading: it waits to be told what to read. Without it nobody helps. */
export const helpingProgram = join(import.meta.dirname, "range-reader.cjs");

/** Verbs that read such files; a file that is followed is read as it comes. */
const readers: ReadonlySet<string> = new Set(["log", "check"]);
const follows = "--follow";

/** Starts the thread where the words typed name a large file that is to be read, and there is a core for it. */
export const startAhead = ({ argv, getBuiltinModule }: NodeJS.Process): Ahead => {
  let worker: Worker | undefined;
  if (namesLargeFile(argv.slice(2)) && getBuiltinModule("node:os").availableParallelism() > 1) {
    const { Worker } = getBuiltinModule("node:worker_threads");
    worker = new Worker(helpingProgram);
    // Nobody waits for one that nobody took, and nobody takes one that is gone.
    worker
      .on("error", () => undefined)
      .on("exit", () => {
        worker = undefined;
      })
      .unref();
  }
  return {
    take() {
      const taken = worker;
      worker = undefined;
      return taken;
    },
    close() {
      void worker?.terminate();
    },
  };
};

/** Whether the words may name such a file; whether they mean it, whoever reads them will know. */
const namesLargeFile = (words: readonly string[]): boolean =>
  words.some((word) => readers.has(word)) &&
  !words.includes(follows) &&
  words.some((word) => !word.startsWith("-") && isLarge(word));

const isLarge = (path: string): boolean => {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true && stats.size >= leastBytesToShare;
  } catch {
    return false;
  }
};
