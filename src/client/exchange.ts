/** One request and its answer on one connection. */
import type { Socket } from "node:net";
import type { Connection } from "./connection.ts";
import { openGathered } from "./gathered.ts";
import { Trouble, troubleOf } from "./trouble.ts";

/** A request, ready to be sent. */
export interface Outgoing {
  readonly method: string;
  /** As it goes over the wire: a path, or the whole address where a proxy forwards it. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: Uint8Array | StreamedPieces | undefined;
}

/** A body given in pieces, each of which has left the process when the next is asked for. */
export interface StreamedPieces {
  readonly length: number;
  chunks(): AsyncIterable<Uint8Array>;
}

/** Bounds of one exchange. */
export interface Bounds {
  /** Longest silence in either direction. */
  readonly silenceMs: number;
  /** Largest body that is read, before it is decoded. */
  readonly bodyBytes: number;
  readonly signal: AbortSignal;
}

/** How an exchange ended. */
export interface Exchanged {
  /** The final status; undefined where none was read. */
  readonly status: number | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came, encoded. */
  readonly body: Uint8Array;
  /** What kept the answer from being whole. */
  readonly trouble: Trouble | undefined;
  /** Whether the last byte of the request's body was handed over. */
  readonly bodySent: boolean;
}

/** Sends a request and reads its answer. What the network does is a value. @throws what a body given in pieces throws */
export const exchange = (connection: Connection, outgoing: Outgoing, bounds: Bounds): Promise<Exchanged> =>
  new Promise((resolve, reject) => {
    connection.restart();
    const guard = guardOf(connection, bounds);
    const sending = sendingOf(connection, outgoing.body);
    const answer = answerOf(connection, bounds);
    const end = (trouble: Trouble | undefined) => {
      guard.end();
      sending.stop();
      if (sending.failure !== undefined) reject(sending.failure.thrown);
      else resolve({ ...answer.read(trouble), bodySent: sending.done() && !connection.lost() });
    };
    connection.http.dispatch(
      { method: outgoing.method, path: outgoing.path, headers: outgoing.headers, body: sending.body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, status, headers) => answer.start(status, headers),
        onResponseData: (_, chunk) => answer.add(chunk),
        onResponseEnd: () => end(undefined),
        onResponseError: (_, error) => end(guard.reason() ?? troubleOf(error)),
      },
    );
  });

/** Collects an answer, up to the bound for its body. */
const answerOf = ({ socket, status }: Connection, { bodyBytes }: Bounds) => {
  let body = openGathered(bodyBytes);
  let started: Pick<Exchanged, "status" | "headers"> | undefined;
  return {
    start: (code: number, headers: Readonly<Record<string, string | string[] | undefined>>) => {
      if (code < 200) return;
      started = { status: code, headers: flat(headers) };
      const length = Number(started.headers["content-length"]);
      if (length > 0) body = openGathered(bodyBytes, length);
    },
    add: (chunk: Uint8Array) => {
      body.add(chunk);
      if (body.tooLong) socket.destroy(new Trouble("TOO_LONG"));
    },
    read: (trouble: Trouble | undefined) => ({
      ...(started ?? { status: status(), headers: {} }),
      body: body.read(),
      // What began as HTTP and goes on as something else was broken off, or mixed up, on its way.
      trouble: started !== undefined && trouble?.code === "NOT_HTTP" ? new Trouble("CUT", { cause: trouble }) : trouble,
    }),
  };
};

const flat = (headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> => {
  const one: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) one[name] = typeof value === "string" ? value : value.join(", ");
  }
  return one;
};

/** The longest time that a timer of Node can have. */
const longestTimerMs = 2 ** 31 - 1;

/** Ends an exchange that is silent, or whose run is told to stop. */
const guardOf = ({ socket }: Connection, { silenceMs, signal }: Bounds) => {
  let reason: Trouble | undefined;
  let ended = false;
  const stop = (why: Trouble) => {
    reason ??= why;
    socket.destroy(why);
  };
  const allowedMs = Math.min(silenceMs, longestTimerMs);
  // What came while the process itself was asleep or busy is read first: it is no silence.
  const silent = () => {
    const { bytesRead, writableLength } = socket;
    setImmediate(() => {
      if (ended) return;
      if (socket.bytesRead === bytesRead && socket.writableLength === writableLength) stop(new Trouble("SILENT"));
      else socket.setTimeout(allowedMs);
    });
  };
  const abort = () => stop(new Trouble("ABORTED", { cause: signal.reason }));
  // Node's own measure: bytes that leave the process or come into it, also within one long write.
  socket.setTimeout(allowedMs).on("timeout", silent);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return {
    reason: () => reason,
    end: () => {
      ended = true;
      socket.setTimeout(0).off("timeout", silent);
      signal.removeEventListener("abort", abort);
    },
  };
};

/** A request's body as undici takes it, and what became of it. */
interface Sending {
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null;
  /** What a body given in pieces threw. */
  readonly failure: { readonly thrown: unknown } | undefined;
  stop(): void;
  /** Whether all of it was handed over. */
  done(): boolean;
}

const sendingOf = ({ socket }: Connection, body: Outgoing["body"]): Sending =>
  body === undefined || body instanceof Uint8Array
    ? { body: body ?? null, failure: undefined, stop: () => undefined, done: () => true }
    : new SendingPieces(socket, body);

/** Gives undici a body in pieces. It asks for the next only after it wrote the last one, and waits where the socket is full. */
class SendingPieces implements Sending {
  readonly body: AsyncIterable<Uint8Array>;
  failure: { readonly thrown: unknown } | undefined;
  readonly #length: number;
  #handed = 0;
  #stopped = false;

  constructor(socket: Socket, pieces: StreamedPieces) {
    this.#length = pieces.length;
    this.body = this.#pieces(socket, pieces);
  }

  stop(): void {
    this.#stopped = true;
  }

  done(): boolean {
    return this.#handed === this.#length;
  }

  /**
   * Gives the body's last byte only when every other has left the process. A request without it can't be accepted by
   * any server, so that "handed over" is true from the moment at which it could have been, and not before.
   */
  async *#pieces(socket: Socket, { length, chunks }: StreamedPieces): AsyncGenerator<Uint8Array, void> {
    let given = 0;
    try {
      for await (const chunk of chunks()) {
        if (this.#stopped) return;
        given += chunk.length;
        const isLast = given === length && chunk.length > 0;
        const most = isLast ? chunk.subarray(0, -1) : chunk;
        yield most;
        if (socket.writableLength > 0) await written(socket);
        if (!socket.destroyed) this.#handed += most.length;
        if (!isLast) continue;
        if (this.#stopped) return;
        yield chunk.subarray(-1);
        if (socket.writableLength > 0) await written(socket);
        if (!socket.destroyed) this.#handed++;
      }
    } catch (thrown) {
      if (!this.#stopped) this.failure = { thrown };
      throw thrown;
    }
  }
}

/** Resolves when all that was written has left the process, or never will. */
const written = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.write(new Uint8Array(0), () => resolve()));
