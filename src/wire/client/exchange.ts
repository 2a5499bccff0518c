/** Sends one request with undici. */
import type { Dispatcher } from "undici";
import type { Request } from "undici/lib/dispatcher/agent.js";
import type { ReplyHeaders } from "../contract/replies.ts";
import type { Connection } from "./connections.ts";
import { isForwardedByProxy, type Route } from "./route.ts";
import { connectTimeoutMs, TransportError, toTransportError } from "./transport-error.ts";

export type OutgoingRequest = Readonly<{
  method: "GET" | "POST";
  route: Route;
  path: string;
  headers: Headers;
  body?: Uint8Array | StreamedBody | undefined;
  silenceMs: number;
  /**
   * The time limit for the request and the headers of the reply; for a streamed body, whose pieces restart it, for the
   * whole reply.
   */
  totalMs: number;
  /** The time limit for connecting, raised to `minConnectMs` or lowered to `connectTimeoutMs`. */
  connectMs: number;
  signal: AbortSignal;
  maxReplyLength: number;
}>;

export type Headers = readonly (readonly [name: string, value: string])[];

/** Each chunk may reuse the memory of the previous chunk. */
export interface StreamedBody {
  readonly length: number;
  chunks(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

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
  new Promise((settle, fail) => {
    const exchange = new Exchange(connection, request, { settle, fail });
    if (exchange.begin()) connection.dispatch(toDispatchOptions(exchange), createHandler(exchange));
  });

type Settlement = { settle: (result: ExchangeResult) => void; fail: (reason: unknown) => void };

class Exchange {
  isBodySent: boolean;
  head: Pick<ExchangeResult, "status" | "headers"> = { status: undefined, headers: {} };
  hasReplyBegun = false;
  isOver = false;
  readonly request: OutgoingRequest;
  readonly #connection: Connection;
  readonly #settlement: Settlement;
  readonly #pieces: Uint8Array[] = [];
  #length = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #interrupt = () => this.end(new TransportError("ABORTED", { cause: this.request.signal.reason }));

  constructor(connection: Connection, request: OutgoingRequest, settlement: Settlement) {
    this.#connection = connection;
    this.request = request;
    this.#settlement = settlement;
    this.isBodySent = !isStreamed(request.body);
  }

  /** Returns false if the signal is aborted. */
  begin() {
    const { signal, connectMs } = this.request;
    if (signal.aborted) this.#interrupt();
    if (this.isOver) return false;
    signal.addEventListener("abort", this.#interrupt, { once: true });
    if (connectMs >= connectTimeoutMs) this.#startTimer(connectTimeoutMs, "CONNECT_TIMEOUT");
    else this.#startTimer(Math.max(connectMs, minConnectMs), "CONNECT_ENDLESS");
    return true;
  }

  #startTimer(ms: number, code: "CONNECT_TIMEOUT" | "CONNECT_ENDLESS" | "ENDLESS") {
    this.stopTimer();
    if (!this.isOver) this.#timer = setTimeout(() => this.end(new TransportError(code)), Math.min(ms, maxSetTimeoutMs));
  }

  startTotalTimer() {
    this.#startTimer(this.request.totalMs + clockSlackMs, "ENDLESS");
  }

  stopTimer() {
    clearTimeout(this.#timer);
  }

  addPiece(piece: Uint8Array) {
    const { maxReplyLength } = this.request;
    this.#pieces.push(piece.subarray(0, maxReplyLength - this.#length));
    this.#length += piece.length;
    if (this.#length > maxReplyLength) this.end(new TransportError("TOO_LONG"));
  }

  end(error?: TransportError) {
    if (this.isOver) return;
    this.isOver = true;
    this.stopTimer();
    this.request.signal.removeEventListener("abort", this.#interrupt);
    const { destroy, release } = this.#connection;
    if (error) destroy();
    // undici needs time to notice a closed connection.
    else void waitForSocketEvents().then(isStreamed(this.request.body) ? destroy : release);
    if (error?.code === "BODY_FAILED") return this.#settlement.fail(error.cause);
    const bytes = Buffer.concat(this.#pieces);
    void waitForSocketEvents().then(() =>
      this.#settlement.settle({ ...this.head, bytes, error, isBodySent: this.isBodySent }),
    );
  }
}

/** Yields the last byte separately. undici requests this byte after all other bytes have left the process. */
async function* yieldBody(exchange: Exchange, { length, chunks }: StreamedBody) {
  let left = length;
  try {
    for await (const chunk of chunks()) {
      if (chunk.length > left) return;
      const isLastChunk = chunk.length === left;
      for (let from = 0; from < chunk.length; ) {
        const to = Math.min(from + pieceBytes, isLastChunk && left > 1 ? chunk.length - 1 : chunk.length);
        exchange.startTotalTimer();
        // undici must read an early reply now, because Node drops an unread reply after a failed write.
        await waitForSocketEvents();
        if (exchange.isOver) return;
        left -= to - from;
        exchange.isBodySent = left === 0;
        yield chunk.subarray(from, to);
        from = to;
      }
      if (left === 0) return;
    }
  } catch (cause) {
    exchange.end(new TransportError("BODY_FAILED", { cause }));
  }
}

const toDispatchOptions = (exchange: Exchange): Request => {
  const { method, route, path, headers, body, silenceMs } = exchange.request;
  const { to } = route;
  const proxy = isForwardedByProxy(route) ? route.proxy : undefined;
  const ownHeaders = Object.entries({
    Host: proxy && to.host,
    "Proxy-Authorization": proxy?.authorization,
    "Content-Length": isStreamed(body) ? String(body.length) : undefined,
  });
  return {
    method,
    origin: proxy?.url.origin ?? to.origin,
    path: proxy ? to.origin + path : path,
    headers: [...headers, ...ownHeaders].flatMap(([name, value]) => (value === undefined ? [] : [name, value])),
    body: isStreamed(body) ? yieldBody(exchange, body) : body,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
    ...(isStreamed(body) && { reset: true }),
  };
};

const createHandler = (exchange: Exchange): Dispatcher.DispatchHandler => {
  return {
    onRequestStart: () => exchange.startTotalTimer(),
    onResponseStarted() {
      exchange.hasReplyBegun = true;
    },
    onResponseStart(_, status, received) {
      if (status < 200) return;
      if (!isStreamed(exchange.request.body)) exchange.stopTimer();
      const entries = Object.entries(received).map(([name, value = ""]) => [name, [value].flat().join(", ")]);
      exchange.head = { status, headers: Object.fromEntries(entries) };
    },
    onResponseData: (_, piece) => exchange.addPiece(piece),
    onResponseEnd: () => exchange.end(),
    onResponseError(_, thrown) {
      const error = toTransportError(thrown);
      const isInHeaders = error.code === "CUT" && exchange.hasReplyBegun && exchange.head.status === undefined;
      // undici throws this message for an unrequested 100 Continue.
      const code = thrown.message === "bad response" ? "CONTINUE" : "BAD_HEADERS";
      exchange.end(isInHeaders ? new TransportError(code, { cause: thrown }) : error);
    },
  };
};

export const isStreamed = (body: OutgoingRequest["body"]): body is StreamedBody =>
  body !== undefined && !(body instanceof Uint8Array);

/** Between two pieces, undici can read an early reply. */
const pieceBytes = 512 * 1024;

/** undici reports a closed socket two turns of the event loop late. */
const waitForSocketEvents = () =>
  new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

/** If the first packet is lost, TCP needs more than 1 s. */
const minConnectMs = 2000;

/** Half the length of V8's longest string. */
export const maxReplyBytes = 256 * 1024 * 1024;
