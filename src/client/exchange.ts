/** Sends one request with undici. The body that it yields tells if the service can have received all of it. */
import { getErrorCode } from "../files.ts";
import type { Connection } from "./connections.ts";
import type { StreamedBody } from "./index.ts";
import type { Headers } from "./request.ts";
import type { Route } from "./route.ts";

/** A request, as the server behind all proxies gets it, with its limits. */
export interface OutgoingRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly route: Route;
  readonly path: string;
  readonly headers: Headers;
  readonly body?: Uint8Array | StreamedBody | undefined;
  /** Longest silence in either direction. */
  readonly silenceMs: number;
  /** Longest time from the connection, or the last piece of a streamed body, to the end of the reply. */
  readonly wholeMs?: number;
  readonly signal: AbortSignal;
  /** Bytes of the reply that are collected. */
  readonly maxBytes: number;
  /** Takes the final status. */
  readonly onHead?: (status: number, headers: ReplyHeaders) => void;
  /** Takes pieces of the reply instead of collecting them. Returns false if no more should come until `resume`. */
  readonly onPiece?: (piece: Uint8Array, resume: () => void) => boolean;
}

/** Header values by their names in lower case. */
export type ReplyHeaders = Readonly<Record<string, string>>;

/** A reply, and how it ended. */
export interface ExchangeResult {
  /** Undefined if none was read with its headers. */
  readonly status: number | undefined;
  readonly headers: ReplyHeaders;
  /** The body as it came, encoded. */
  readonly bytes: Uint8Array;
  /** What kept the reply from being complete. */
  readonly error: TransportError | undefined;
  /** True if the service can have received the whole body. */
  readonly bodySent: boolean;
}

/** undici's clock for silence is up to this much slow, so that silence is reported as what it is. */
const clockSlackMs = 1000;

/** The longest time that a timer of Node can have. */
const maxTimerMs = 2 ** 31 - 1;

/** Sends a request and collects the reply. What the network does is a value. @throws what a streamed body throws */
export const runExchange = (connection: Connection, outgoing: OutgoingRequest): Promise<ExchangeResult> =>
  new Promise((resolve, reject) => {
    const { method, route, path, headers, body, signal, maxBytes, onHead, onPiece } = outgoing;
    const { silenceMs, wholeMs = maxTimerMs } = outgoing;
    const streamed = isStreamed(body) ? body : undefined;
    let bodySent = streamed === undefined;
    let head: Pick<ExchangeResult, "status" | "headers"> = { status: undefined, headers: {} };
    const pieces: Uint8Array[] = [];
    let length = 0;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    let hasBegun = false;
    const end = (error?: TransportError) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", interrupt);
      if (error !== undefined) connection.destroy();
      // undici can use the connection again when it has seen that it stays open.
      else void waitForArrivedData().then(streamed ? connection.destroy : connection.release);
      if (error?.code === "BODY_FAILED") return reject(error.cause);
      const bytes = Buffer.concat(pieces);
      // The connection lives longer than this exchange, and would keep them.
      pieces.length = 0;
      // The connection is released then.
      return void waitForArrivedData().then(() => resolve({ ...head, bytes, error, bodySent }));
    };
    const interrupt = () => end(new TransportError("ABORTED", { cause: signal.reason }));
    const limit = (ms: number, code: "CONNECT_TIMEOUT" | "ENDLESS") => {
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(() => end(new TransportError(code)), Math.min(ms, maxTimerMs));
    };
    const limitWhole = () => limit(wholeMs + clockSlackMs, "ENDLESS");
    if (signal.aborted) return interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    limit(connectTimeoutMs, "CONNECT_TIMEOUT");
    const { to } = route;
    const forwarding = isForwardedByProxy(route) ? route.proxy : undefined;
    const own: readonly [string, string | undefined][] = [
      ["Host", forwarding && to.authority],
      ["Proxy-Authorization", forwarding?.authorization],
      ["Content-Length", streamed && String(streamed.length)],
    ];
    const bodyEvents = streamed && {
      isOver: () => isOver,
      onPiece: limitWhole,
      onLast: () => {
        bodySent = true;
      },
      onError: (cause: unknown) => end(new TransportError("BODY_FAILED", { cause })),
    };
    connection.dispatch(
      {
        method,
        origin: forwarding?.origin ?? to.origin,
        path: forwarding === undefined ? path : to.origin + path,
        headers: [...headers.flat(), ...own.flatMap(([name, value]) => (value === undefined ? [] : [name, value]))],
        body: isStreamed(body) ? bodyEvents && yieldBody(body, bodyEvents) : body,
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        ...(streamed === undefined ? {} : { reset: true }),
      },
      {
        onRequestStart: limitWhole,
        onResponseStarted: () => {
          hasBegun = true;
        },
        onResponseStart(_, status, received) {
          if (status < 200) return;
          const entries = Object.entries(received).map(([name, value = ""]) => [name, [value].flat().join(", ")]);
          head = { status, headers: Object.fromEntries(entries) };
          onHead?.(status, head.headers);
        },
        onResponseData(controller, piece) {
          if (onPiece !== undefined) {
            if (!onPiece(piece, () => controller.resume())) controller.pause();
            return;
          }
          pieces.push(piece.subarray(0, maxBytes - length));
          length += piece.length;
          if (length > maxBytes) end(new TransportError("TOO_LONG"));
        },
        onResponseEnd: () => end(),
        onResponseError(_, thrown) {
          const error = toTransportError(thrown);
          const isInHeaders = error.code === "CUT" && hasBegun && head.status === undefined;
          end(isInHeaders ? new TransportError("CUT_HEADERS", { cause: thrown }) : error);
        },
      },
    );
  });

export const isStreamed = (body: OutgoingRequest["body"]): body is StreamedBody =>
  body !== undefined && !(body instanceof Uint8Array);

/** True if a proxy forwards the request itself: without TLS on either side. Otherwise it opens a tunnel. */
export const isForwardedByProxy = ({ to, proxy }: Route): boolean => proxy !== undefined && !to.secure && !proxy.secure;

/** Largest piece of a body. Between two pieces, a reply that has come is read. */
const pieceBytes = 64 * 1024;

/** The exchange that a body is a part of. */
interface BodyEvents {
  readonly isOver: () => boolean;
  readonly onPiece: () => void;
  readonly onLast: () => void;
  readonly onError: (thrown: unknown) => void;
}

/**
 * Yields a body whose last byte is a piece of its own. undici asks for a piece when every other has left the process, so
 * no server can accept the request before `onLast`, and every server can from then on.
 */
async function* yieldBody({ length, chunks }: StreamedBody, on: BodyEvents): AsyncGenerator<Uint8Array, void> {
  let left = length;
  try {
    for await (const chunk of chunks()) {
      // undici ends a request whose body is not as long as its headers say.
      if (chunk.length > left) return;
      const isLastChunk = chunk.length === left;
      for (let from = 0; from < chunk.length; ) {
        const end = Math.min(from + pieceBytes, isLastChunk && left > 1 ? chunk.length - 1 : chunk.length);
        on.onPiece();
        // A service that has its reply ready (413 after 4 of 100 MB) may close its side while the body is still being sent,
        // and Node drops a reply that nobody has read if the next write fails.
        await waitForArrivedData();
        if (on.isOver()) return;
        left -= end - from;
        if (left === 0) on.onLast();
        yield chunk.subarray(from, end);
        from = end;
      }
      if (left === 0) return;
    }
  } catch (thrown) {
    on.onError(thrown);
  }
}

/**
 * Waits until what has arrived was read. The first turn of the event loop may end before the system is asked for it, and
 * undici reports an error when the socket is closed, at the end of the second.
 */
const waitForArrivedData = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

/**
 * A transport error. Other modules see it only as a failure's cause. Its code is the system's or Node's, or one of the client's
 * own: CONNECT_TIMEOUT; SILENT, for as long as `--timeout` allows; ENDLESS, longer than a reply may take as a whole; ABORTED,
 * by the run; PROXY_REFUSED, with the status of the proxy; CUT, by the other side; CUT_HEADERS, as CUT within the headers, or
 * by undici on an unrequested 100 Continue; NOT_HTTP; BODY_FAILED, the request's body threw; TOO_LONG, longer than its limit.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: string;
  readonly status: number | undefined;

  constructor(code: string, about: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(code, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.status = about.status;
  }
}

/** How long connecting may take, names, proxies and TLS included (guarantees.md). */
export const connectTimeoutMs = 10_000;

/** undici's codes, and what they mean. */
const undiciCodes: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "CONNECT_TIMEOUT",
  UND_ERR_HEADERS_TIMEOUT: "SILENT",
  UND_ERR_BODY_TIMEOUT: "SILENT",
  UND_ERR_HEADERS_OVERFLOW: "HPE_HEADER_OVERFLOW",
  UND_ERR_SOCKET: "CUT",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "CUT",
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "CUT",
  UND_ERR_DESTROYED: "ABORTED",
  ABORT_ERR: "ABORTED",
};

/** Converts an error of undici, sockets or TLS. */
export const toTransportError = (thrown: unknown): TransportError => {
  if (thrown instanceof TransportError) return thrown;
  if (thrown instanceof Error && thrown.cause instanceof TransportError) return thrown.cause;
  return new TransportError(toErrorCode(thrown), { cause: thrown });
};

const toErrorCode = (thrown: unknown): string => {
  // undici's class of errors of its parser; it has no code.
  if (thrown instanceof Error && thrown.name === "HTTPParserError") return "NOT_HTTP";
  const code = getErrorCode(thrown);
  if (code === "unknown") return "UNKNOWN";
  // Without a call of the system, the other side just ended the connection.
  if (code === "ECONNRESET" && !Object.hasOwn(Object(thrown), "syscall")) return "CUT";
  return undiciCodes[code] ?? code;
};

const permanentCodes = /^(ABORTED|TOO_LONG|ENDLESS|NOT_HTTP|EPROTO|HPE_HEADER_OVERFLOW|HOSTNAME_MISMATCH|INVALID_CA)$/;
const permanentTlsCodes = /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)_/;
const hostCodes = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;

/**
 * True if another try can help: not with certificates, a closed client, or a proxy that refuses. A mistyped address and a
 * service that is not running are waited for only if somebody said for how long.
 */
export const isRetryable = ({ code, status = 500 }: TransportError, waitsForHost: boolean): boolean =>
  !permanentCodes.test(code) &&
  !permanentTlsCodes.test(code) &&
  status >= 500 &&
  (waitsForHost || !hostCodes.test(code));
