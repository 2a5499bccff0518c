/** Writes to a stream until the reader leaves. */
import type { Writable } from "node:stream";
import { Failure } from "../failure.ts";
import { Breaks } from "../system/breaks.ts";
import { getErrorCode } from "../system/files.ts";
import { describeSystemCode, pluralize } from "../text/sentences.ts";

export type Pieces = Iterable<string> | AsyncIterable<string>;
/** Limits the memory for a slow reader. */
const maxWriteBytes = 1 << 18;

/** A closed pipe causes these errors. A closed terminal sends SIGHUP instead. */
const closedReaderCodes = new Set(["EPIPE", "ERR_STREAM_DESTROYED", "ECONNRESET"]);

export const outputFailed = (
  code: string,
  groups?: Readonly<{ logged: number; already_logged: number; not_sent: number }>,
) => {
  const { logged = 0, already_logged, not_sent } = groups ?? {};
  const end = `; ${pluralize(logged, "group")} logged, ${already_logged} already logged, ${not_sent} not logged`;
  const message = `cannot write standard output: ${describeSystemCode(code)}${groups ? end : ""}`;
  const hint = code === "ENOSPC" ? "free disk space, or write to another disk" : "write to another file or device";
  return new Failure("storage", "output-failed", message, { hint, systemCode: code });
};

export class Sink {
  isReaderGone = false;
  readonly #stream: Writable;
  #signal: AbortSignal | undefined;
  readonly #breaks = new Breaks();

  constructor(stream: Writable, signal?: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    // Without a listener, a broken pipe would end the process with a stack trace.
    stream.on("error", (error) => {
      if (closedReaderCodes.has(getErrorCode(error))) this.isReaderGone = true;
    });
  }

  ignoreSignal = () => {
    this.#signal = undefined;
  };

  /** Resolves even if the reader left. @throws Failure `output-failed`, or the signal's reason */
  async write(text: string | Uint8Array) {
    const bytes = typeof text === "string" ? Buffer.from(text) : text;
    for (let at = 0; at < bytes.length && !this.isReaderGone; at += maxWriteBytes) {
      this.#signal?.throwIfAborted();
      // Composing a text takes longer than reading it.
      if (this.#breaks.isDue(64 * bytes.length)) await this.#breaks.take();
      await this.#writePiece(bytes.subarray(at, at + maxWriteBytes));
    }
  }

  #writePiece(piece: Uint8Array) {
    const signal = this.#signal;
    return new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
      const done = (error?: unknown) => {
        signal?.removeEventListener("abort", stop);
        if (!error) return resolve();
        if (!closedReaderCodes.has(getErrorCode(error))) return reject(outputFailed(getErrorCode(error)));
        this.isReaderGone = true;
        resolve();
      };
      try {
        this.#stream.write(piece, done);
      } catch (error) {
        // `write` throws the errors of files and devices.
        done(error);
      }
    });
  }
}

const maxJoinedLength = 1 << 16;

/** Does not join the pieces of an async iterable, because each piece must appear immediately. */
export async function* joinPieces(pieces: Pieces): AsyncGenerator<string, void> {
  if (Symbol.asyncIterator in pieces) return yield* pieces;
  let text = "";
  for (const piece of pieces) {
    if (text !== "" && text.length + piece.length > maxJoinedLength) {
      yield text;
      text = "";
    }
    text += piece;
  }
  if (text !== "") yield text;
}

/** Returns false if the reader left. */
export const writePieces = async (sink: Sink, pieces: Pieces) => {
  for await (const piece of pieces) {
    await sink.write(piece);
    if (sink.isReaderGone) break;
  }
  return !sink.isReaderGone;
};
