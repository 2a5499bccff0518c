/** Sends one request with undici. */
import { getErrorCode } from "../files.ts";
import type { Connection } from "./connections.ts";
import type { StreamedBody } from "./index.ts";
import type { Headers, Route } from "./request.ts";

export type OutgoingRequest = Readonly<{
  method: "GET" | "HEAD" | "POST";
  route: Route;
  path: string;
  headers: Headers;
  body?: Uint8Array | StreamedBody | undefined;
  silenceMs: number;
  /**
   * The time limit for the request and the reply. Each piece of a streamed body restarts this limit. With
   * `onReplyPiece`, the limit applies until the headers of the reply.
   */
  totalMs: number;
  /** The time limit for connecting, raised to `minConnectMs` or lowered to `connectTimeoutMs`. */
  connectMs: number;
  signal: AbortSignal;
  maxReplyLength: number;
  onHead?: (status: number, headers: ReplyHeaders) => void;
  /** Receives the reply's body, so that `ExchangeResult.bytes` is empty. Returns false to pause. */
  onReplyPiece?: (piece: Uint8Array, resume: () => void) => boolean;
}>;

export type ReplyHeaders = Readonly<Record<string, string>>;

export type ExchangeResult = Readonly<{
  status: number | undefined;
  headers: ReplyHeaders;
  bytes: Uint8Array;
  error: TransportError | undefined;
  /** True if the service may have the whole body. */
  isBodySent: boolean;
}>;

/** undici notices silence up to 1 s late. */
const clockSlackMs = 1000;
const maxSetTimeoutMs = 2 ** 31 - 1;

/** Returns transport errors in the result. @throws errors of a streamed body */
export const runExchange = (connection: Connection, request: OutgoingRequest): Promise<ExchangeResult> =>
  new Promise((resolve, reject) => {
    const { method, route, path, headers, body, signal, silenceMs, maxReplyLength, onReplyPiece } = request;
    const [streamed, plainBody] = isStreamed(body) ? [body, undefined] : [undefined, body];
    let isBodySent = !streamed;
    let head: Pick<ExchangeResult, "status" | "headers"> = { status: undefined, headers: {} };
    const pieces: Uint8Array[] = [];
    let length = 0;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    let hasReplyBegun = false;
    const end = (error?: TransportError) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", interrupt);
      if (error) connection.destroy();
      // undici needs time to notice a closed connection.
      else void waitForSocketEvents().then(streamed ? connection.destroy : connection.release);
      if (error?.code === "BODY_FAILED") return reject(error.cause);
      const bytes = Buffer.concat(pieces);
      return void waitForSocketEvents().then(() => resolve({ ...head, bytes, error, isBodySent }));
    };
    const interrupt = () => end(new TransportError("ABORTED", { cause: signal.reason }));
    const startTimer = (ms: number, code: "CONNECT_TIMEOUT" | "CONNECT_ENDLESS" | "ENDLESS") => {
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(() => end(new TransportError(code)), Math.min(ms, maxSetTimeoutMs));
    };
    const startTotalTimer = () => startTimer(request.totalMs + clockSlackMs, "ENDLESS");
    /** Yields the last byte separately. undici requests this byte after all other bytes have left the process. */
    const yieldBody = async function* ({ length, chunks }: StreamedBody) {
      let left = length;
      try {
        for await (const chunk of chunks()) {
          if (chunk.length > left) return;
          const isLastChunk = chunk.length === left;
          for (let from = 0; from < chunk.length; ) {
            const to = Math.min(from + pieceBytes, isLastChunk && left > 1 ? chunk.length - 1 : chunk.length);
            startTotalTimer();
            // undici must read an early reply now, because Node drops an unread reply after a failed write.
            await waitForSocketEvents();
            if (isOver) return;
            left -= to - from;
            isBodySent = left === 0;
            yield chunk.subarray(from, to);
            from = to;
          }
          if (left === 0) return;
        }
      } catch (cause) {
        end(new TransportError("BODY_FAILED", { cause }));
      }
    };
    if (signal.aborted) return interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    if (request.connectMs >= connectTimeoutMs) startTimer(connectTimeoutMs, "CONNECT_TIMEOUT");
    else startTimer(Math.max(request.connectMs, minConnectMs), "CONNECT_ENDLESS");
    const { to } = route;
    const proxy = isForwardedByProxy(route) ? route.proxy : undefined;
    const ownHeaders = Object.entries({
      Host: proxy && to.host,
      "Proxy-Authorization": proxy?.authorization,
      "Content-Length": streamed && String(streamed.length),
    });
    connection.dispatch(
      {
        method,
        origin: proxy?.url.origin ?? to.origin,
        path: proxy ? to.origin + path : path,
        headers: [...headers, ...ownHeaders].flatMap(([name, value]) => (value === undefined ? [] : [name, value])),
        body: streamed ? yieldBody(streamed) : plainBody,
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        ...(streamed && { reset: true }),
      },
      {
        onRequestStart: startTotalTimer,
        onResponseStarted: () => {
          hasReplyBegun = true;
        },
        onResponseStart(_, status, received) {
          if (status < 200) return;
          if (onReplyPiece) clearTimeout(timer);
          const entries = Object.entries(received).map(([name, value = ""]) => [name, [value].flat().join(", ")]);
          head = { status, headers: Object.fromEntries(entries) };
          request.onHead?.(status, head.headers);
        },
        onResponseData(controller, piece) {
          if (onReplyPiece) {
            if (!onReplyPiece(piece, () => controller.resume())) controller.pause();
            return;
          }
          pieces.push(piece.subarray(0, maxReplyLength - length));
          length += piece.length;
          if (length > maxReplyLength) end(new TransportError("TOO_LONG"));
        },
        onResponseEnd: () => end(),
        onResponseError(_, thrown) {
          const error = toTransportError(thrown);
          const isInHeaders = error.code === "CUT" && hasReplyBegun && head.status === undefined;
          // undici throws this message for an unrequested 100 Continue.
          const code = thrown.message === "bad response" ? "CONTINUE" : "BAD_HEADERS";
          end(isInHeaders ? new TransportError(code, { cause: thrown }) : error);
        },
      },
    );
  });

export const isStreamed = (body: OutgoingRequest["body"]): body is StreamedBody =>
  body !== undefined && !(body instanceof Uint8Array);

/** With TLS to the service or to the proxy, undici opens a tunnel instead. */
export const isForwardedByProxy = ({ to, proxy }: Route) =>
  proxy !== undefined && to.protocol === "http:" && proxy.url.protocol === "http:";

/** Between two pieces, undici can read an early reply. */
const pieceBytes = 512 * 1024;

/** undici reports a closed socket two turns of the event loop late. */
const waitForSocketEvents = () =>
  new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

export class TransportError extends Error {
  override readonly name = "TransportError";
  /** A code of the system or Node, or a code of this client such as `CUT`. */
  readonly code: string;
  readonly status: number | undefined;

  constructor(code: string, details: { cause?: unknown; status?: number } = {}) {
    super(code, details);
    this.code = code;
    this.status = details.status;
  }
}

/** The limit for name resolution, proxy, TCP and TLS together (guarantees.md). */
export const connectTimeoutMs = 10_000;

/** If the first packet is lost, TCP needs more than 1 s. */
const minConnectMs = 2000;

/** Half the length of V8's longest string. */
export const maxReplyBytes = 256 * 1024 * 1024;

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

export const toTransportError = (thrown: unknown) => {
  if (thrown instanceof TransportError) return thrown;
  if (thrown instanceof Error && thrown.cause instanceof TransportError) return thrown.cause;
  return new TransportError(toErrorCode(thrown), { cause: thrown });
};

const toErrorCode = (thrown: unknown) => {
  if (thrown instanceof Error && thrown.name === "HTTPParserError") return "NOT_HTTP";
  const code = getErrorCode(thrown);
  if (code === "unknown") return "UNKNOWN";
  // If the other side ended the connection, the error has no `syscall`.
  if (code === "ECONNRESET" && !Object.hasOwn(Object(thrown), "syscall")) return "CUT";
  return undiciCodes[code] ?? code;
};

const permanentCodes =
  /^(ABORTED|TOO_LONG|UNKNOWN_ENCODING|(CONNECT_)?ENDLESS|NOT_HTTP|EPROTO|HPE_HEADER_OVERFLOW|HOSTNAME_MISMATCH|INVALID_CA)$/;
export const tlsCodes = /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)_/;
const hostCodes = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;

/** If `waitsForHost` is true, unknown hosts and refused connections are retryable. */
export const isRetryable = ({ code, status = 500 }: TransportError, waitsForHost: boolean) =>
  !permanentCodes.test(code) && !tlsCodes.test(code) && status >= 500 && (waitsForHost || !hostCodes.test(code));
