/** A stream that waits for its reader, ends quietly when the reader left, and says when it can't be written. */
import type { Writable } from "node:stream";
import { codeOf } from "../files.ts";
import { outputFailed } from "./failures.ts";

/** Text in pieces. */
export type Pieces = Iterable<string> | AsyncIterable<string>;

export interface Sink {
  /** Resolves once it was handed over, or nobody reads any more. @throws Failure `output-failed`, the signal's reason */
  write(text: string | Uint8Array): Promise<void>;
  /** True if the reader closed its end. */
  readonly gone: boolean;
  /** From now on a signal that came is no reason not to write. */
  ignoreSignal(): void;
}

/** Characters of one write: few enough that a slow reader holds up little memory. */
const pieceLength = 1 << 18;

/** Codes of a reader that left: the other end of a pipe or a socket. A terminal that was closed sends SIGHUP. */
const readerLeft = new Set(["EPIPE", "ERR_STREAM_DESTROYED", "ECONNRESET"]);

/** Opens standard output, or a pager's input. Writing stops waiting when `signal` aborts. */
export const openSink = (to: { readonly stream: Writable; readonly signal?: AbortSignal }): Sink => {
  const { stream } = to;
  let { signal } = to;
  let gone = false;
  // Without a listener, a broken pipe would end the process with a stack trace.
  stream.on("error", (error) => {
    if (readerLeft.has(codeOf(error))) gone = true;
  });
  const hand = (piece: string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      const heeded = signal;
      const stop = () => reject(heeded?.reason);
      heeded?.addEventListener("abort", stop, { once: true });
      const done = (error?: unknown) => {
        heeded?.removeEventListener("abort", stop);
        if (!error) return resolve();
        if (!readerLeft.has(codeOf(error))) return reject(outputFailed(codeOf(error)));
        gone = true;
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
    get gone() {
      return gone;
    },
    ignoreSignal() {
      signal = undefined;
    },
    async write(text) {
      for (let at = 0; at < text.length && !gone; ) {
        signal?.throwIfAborted();
        const piece = typeof text === "string" ? text.slice(at, wholeCharacter(text, at + pieceLength)) : text;
        await hand(piece);
        at += piece.length;
      }
    },
  };
};

/** The nearest end at or after `end` that does not cut a surrogate pair. */
const wholeCharacter = (text: string, end: number): number => {
  const unit = text.charCodeAt(end - 1);
  return end < text.length && unit >= 0xd800 && unit <= 0xdbff ? end + 1 : end;
};
