/** A stream that waits for its reader, ends quietly when the reader left, and says when it can't be written. */
import type { Writable } from "node:stream";
import { getErrorCode } from "../files.ts";
import { outputFailed } from "./failures.ts";

/** Text in pieces. */
export type Pieces = Iterable<string> | AsyncIterable<string>;

export interface Sink {
  /** Resolves once it was handed over, or nobody reads any more. @throws Failure `output-failed`, the signal's reason */
  write(text: string | Uint8Array): Promise<void>;
  /** True if the reader closed its end. */
  readonly isReaderGone: boolean;
  /** From now on a signal that came is no reason not to write. */
  ignoreSignal(): void;
}

/** Characters of one write: few enough that a slow reader holds up little memory. */
const pieceLength = 1 << 18;

/** Codes of a reader that left: the other end of a pipe or a socket. A terminal that was closed sends SIGHUP. */
const closedReaderCodes = new Set(["EPIPE", "ERR_STREAM_DESTROYED", "ECONNRESET"]);

/** Opens standard output, or a pager's input. Writing stops waiting when `signal` aborts. */
export const openSink = (to: { readonly stream: Writable; readonly signal?: AbortSignal }): Sink => {
  const { stream } = to;
  let { signal } = to;
  let isReaderGone = false;
  // Without a listener, a broken pipe would end the process with a stack trace.
  stream.on("error", (error) => {
    if (closedReaderCodes.has(getErrorCode(error))) isReaderGone = true;
  });
  const writePiece = (piece: string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      const activeSignal = signal;
      const stop = () => reject(activeSignal?.reason);
      activeSignal?.addEventListener("abort", stop, { once: true });
      const done = (error?: unknown) => {
        activeSignal?.removeEventListener("abort", stop);
        if (!error) return resolve();
        if (!closedReaderCodes.has(getErrorCode(error))) return reject(outputFailed(getErrorCode(error)));
        isReaderGone = true;
        resolve();
      };
      try {
        stream.write(piece, done);
      } catch (error) {
        // Devices and files are written in place, and throw in place.
        done(error);
      }
    });
  return {
    get isReaderGone() {
      return isReaderGone;
    },
    ignoreSignal() {
      signal = undefined;
    },
    async write(text) {
      for (let at = 0; at < text.length && !isReaderGone; ) {
        signal?.throwIfAborted();
        const piece = typeof text === "string" ? text.slice(at, roundToCharacter(text, at + pieceLength)) : text;
        await writePiece(piece);
        at += piece.length;
      }
    },
  };
};

/** The nearest end at or after `end` that does not cut a surrogate pair. */
const roundToCharacter = (text: string, end: number): number => {
  const unit = text.charCodeAt(end - 1);
  return end < text.length && unit >= 0xd800 && unit <= 0xdbff ? end + 1 : end;
};
