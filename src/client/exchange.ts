/** Sends one request with undici, and knows from the body that it yields whether the service can have received all of it. */
import type { IncomingHttpHeaders } from "node:http";
import type { StreamedBody } from "./client.ts";
import type { Connection } from "./connections.ts";
import type { Headers } from "./request.ts";
import { connectTimeoutMs, isForwarded, type Route } from "./route.ts";
import { TransportError, toTransportError } from "./transport-error.ts";

/** A request, as the server behind all proxies gets it. */
export interface Outgoing {
  readonly method: "GET" | "HEAD" | "POST";
  readonly route: Route;
  readonly path: string;
  readonly headers: Headers;
  readonly body?: Uint8Array | StreamedBody | undefined;
}

/** Limits of a request and its reply. */
export interface Limits {
  /** Longest silence in either direction. */
  readonly silenceMs: number;
  /** Longest time from the connection to the end of the reply; of a streamed body, from its last piece. */
  readonly wholeMs: number;
  readonly signal: AbortSignal;
}

/** Receives a reply. */
export interface Receiver {
  /** Takes a status and headers, names in lower case. An informational status is not the last. */
  head(status: number, headers: Readonly<Record<string, string>>): void;
  /** Takes a piece of the body. Returns false if no more should come until `resume`. */
  data(piece: Uint8Array): boolean;
  /** Called once, at the end. `error` is what kept the reply from being complete. */
  end(error: TransportError | undefined): void;
}

/** A request under way. */
export interface Started {
  /** True from the moment at which the service can have received the whole body. */
  readonly bodySent: boolean;
  /** Ends the request and the reply, with an error. */
  stop(error: TransportError): void;
  resume(): void;
}

/** undici's clock for silence is up to this much slow, so that silence is reported as what it is. */
const slowClockMs = 1000;

/** The longest time that a timer of Node can have. */
const longestTimerMs = 2 ** 31 - 1;

/** Sends a request. */
export const start = (
  connection: Connection,
  { method, route, path, headers, body }: Outgoing,
  { silenceMs, wholeMs, signal }: Limits,
  receiver: Receiver,
): Started => {
  let controller: { resume(): void } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let hasBegun = false;
  let hasHead = false;
  const streamed = isStreamed(body) ? body : undefined;
  let bodySent = streamed === undefined;
  const end = (error?: TransportError) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    signal.removeEventListener("abort", interrupt);
    if (error !== undefined) connection.destroy();
    // undici can use the connection again when it has seen that it stays open.
    else void arrivalsRead().then(streamed ? connection.destroy : connection.release);
    receiver.end(error);
  };
  const interrupt = () => end(new TransportError("ABORTED", { cause: signal.reason }));
  const limit = (ms: number, code: "CONNECT_TIMEOUT" | "ENDLESS") => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(() => end(new TransportError(code)), Math.min(ms, longestTimerMs));
  };
  const limitWhole = () => limit(wholeMs + slowClockMs, "ENDLESS");
  const started = {
    get bodySent() {
      return bodySent;
    },
    stop: end,
    resume: () => controller?.resume(),
  };
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  if (isOver) return started;
  limit(connectTimeoutMs, "CONNECT_TIMEOUT");
  const pacing: Pacing = {
    isOver: () => isOver,
    onPiece: limitWhole,
    onLast: () => {
      bodySent = true;
    },
    onError: (cause) => end(new TransportError("BODY_FAILED", { cause })),
  };
  const { to, proxy } = route;
  const forwarding = isForwarded(route) ? proxy : undefined;
  const toProxy = forwarding?.authorization;
  connection.dispatch(
    {
      method,
      origin: forwarding?.address.origin ?? to.origin,
      path: forwarding === undefined ? path : to.origin + path,
      headers: [
        ...headers.flat(),
        ...(forwarding === undefined ? [] : ["Host", to.authority]),
        ...(toProxy === undefined ? [] : ["Proxy-Authorization", toProxy]),
        ...(streamed === undefined ? [] : ["Content-Length", String(streamed.length)]),
      ],
      body: isStreamed(body) ? pacedBody(body, pacing) : body,
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
      ...(streamed === undefined ? {} : { reset: true }),
    },
    {
      onRequestStart(started) {
        controller = started;
        limitWhole();
      },
      onResponseStarted: () => {
        hasBegun = true;
      },
      onResponseStart(_, status, received) {
        hasHead ||= status >= 200;
        receiver.head(status, flat(received));
      },
      onResponseData(started, piece) {
        if (!receiver.data(piece)) started.pause();
      },
      onResponseEnd: () => end(),
      onResponseError(_, thrown) {
        const error = toTransportError(thrown);
        end(
          error.code === "CUT" && hasBegun && !hasHead ? new TransportError("CUT_HEADERS", { cause: thrown }) : error,
        );
      },
    },
  );
  return started;
};

export const isStreamed = (body: Outgoing["body"]): body is StreamedBody =>
  body !== undefined && !(body instanceof Uint8Array);

interface Pacing {
  readonly isOver: () => boolean;
  readonly onPiece: () => void;
  readonly onLast: () => void;
  readonly onError: (thrown: unknown) => void;
}

/** Largest piece of a body. Between two pieces, a reply that has come is read. */
const pieceBytes = 64 * 1024;

/**
 * Yields a body whose last byte is a piece of its own. undici asks for a piece when every other has left the process, so
 * no server can accept the request before `onLast`, and every server can from then on.
 */
async function* pacedBody({ length, chunks }: StreamedBody, on: Pacing): AsyncGenerator<Uint8Array, void> {
  let left = length;
  try {
    for await (const chunk of chunks()) {
      // undici ends a request whose body is not as long as its headers say.
      if (chunk.length > left) return;
      for (const piece of piecesOf(chunk, chunk.length === left)) {
        on.onPiece();
        // A service that has its reply ready (413 after 4 of 100 MB) may close its side while the body is still being sent,
        // and Node drops a reply that nobody has read if the next write fails.
        await arrivalsRead();
        if (on.isOver()) return;
        left -= piece.length;
        if (left === 0) on.onLast();
        yield piece;
      }
      if (left === 0) return;
    }
  } catch (thrown) {
    on.onError(thrown);
  }
}

function* piecesOf(chunk: Uint8Array, isLast: boolean): Generator<Uint8Array, void> {
  const end = isLast ? chunk.length - 1 : chunk.length;
  for (let at = 0; at < end; at += pieceBytes) yield chunk.subarray(at, Math.min(at + pieceBytes, end));
  if (isLast) yield chunk.subarray(end);
}

/**
 * Waits until what has arrived was read. The first turn of the event loop may end before the system is asked for it, and
 * undici reports an error when the socket is closed, at the end of the second.
 */
const arrivalsRead = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

/** A reply, and how it ended. */
export interface Exchanged {
  /** Undefined if none was read with its headers. */
  readonly status: number | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came, encoded. */
  readonly body: Uint8Array;
  /** What kept the reply from being complete. */
  readonly error: TransportError | undefined;
  readonly bodySent: boolean;
}

/** Sends a request and collects the reply, up to `maxBytes` of it. What the network does is a value. @throws what a streamed body throws */
export const exchange = (
  connection: Connection,
  outgoing: Outgoing,
  { maxBytes, ...limits }: Limits & { readonly maxBytes: number },
): Promise<Exchanged> =>
  new Promise((resolve, reject) => {
    let status: number | undefined;
    let headers: Readonly<Record<string, string>> = {};
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const started = start(connection, outgoing, limits, {
      head(code, received) {
        if (code >= 200) [status, headers] = [code, received];
      },
      data(piece) {
        pieces.push(piece.subarray(0, maxBytes - bytes));
        bytes += piece.length;
        if (bytes > maxBytes) started.stop(new TransportError("TOO_LONG"));
        return true;
      },
      end(error) {
        if (error?.code === "BODY_FAILED") return reject(error.cause);
        const body = Buffer.concat(pieces);
        // The connection is released then.
        void arrivalsRead().then(() => resolve({ status, headers, body, error, bodySent: started.bodySent }));
      },
    });
  });

const flat = (headers: IncomingHttpHeaders): Record<string, string> => {
  const one: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) one[name] = typeof value === "string" ? value : value.join(", ");
  }
  return one;
};
