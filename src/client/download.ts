/** Requests of addresses that are not part of the service's interface: downloads, and the look of `doctor`. */
import { Readable } from "node:stream";
import type { EndpointHost } from "../contract/endpoint.ts";
import type { Failure } from "../failure.ts";
import { type Host, withSignal } from "../host.ts";
import type { Connections } from "./connections.ts";
import { isRetryable, type ReplyHeaders, runExchange, TransportError } from "./exchange.ts";
import { connectionFailed, isTransientStatus, urlSettingOf } from "./failures.ts";
import type { ClientOptions, RetryBudget } from "./index.ts";
import { type Headers, traceRequest, userAgent } from "./request.ts";
import { findRoute, parseBaseUrl, type Route } from "./route.ts";
import { maxReadSilenceMs, openRetryBudget, parseRetryAfter, triesBeforeNotice } from "./send.ts";

export type DownloadOptions = Pick<
  ClientOptions,
  "host" | "timeoutMs" | "maxWaitMs" | "waitsForHost" | "onAgain" | "trace"
>;

/** The head of a reply, with its body to come. */
export interface DownloadReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** How long the server asks to wait; undefined if it does not ask. */
  readonly retryAfterMs: number | undefined;
  readonly tries: number;
  /** Yields the body as it arrives. @throws Failure `connection-failed` if it is cut; the signal's reason */
  chunks(): AsyncIterable<Uint8Array>;
  /** Gives up the rest of the body. */
  cancel(): void;
}

/** Downloads over connections that are reused. The caller closes them. */
export interface Downloads {
  /** Repeats a request until the reply is final, or patience is over. @throws Failure; the signal's reason */
  get(url: URL, headers: Headers): Promise<DownloadReply>;
  patience(): RetryBudget;
  announce(why: Failure): void;
  /** Returns the same downloads, which this signal ends, too. */
  endedBy(signal: AbortSignal): Downloads;
  close(): void;
}

/** What all downloads of a run share: connections, the origins that have replied, and whether a retry was announced. */
interface SharedState {
  connections: Promise<Connections> | undefined;
  readonly reachedOrigins: Set<string>;
  isRetryAnnounced: boolean;
}

/** Opens downloads. Connects when something is requested. */
export const openDownloads = (options: DownloadOptions): Downloads =>
  createDownloads(options, { connections: undefined, reachedOrigins: new Set(), isRetryAnnounced: false });

const createDownloads = (options: DownloadOptions, shared: SharedState): Downloads => {
  const { host, maxWaitMs, waitsForHost, onAgain, timeoutMs: silenceMs = maxReadSilenceMs } = options;
  const announce = (why: Failure) => {
    if (!shared.isRetryAnnounced) onAgain?.(why, maxWaitMs);
    shared.isRetryAnnounced = true;
  };
  const patience = () => openRetryBudget(options);
  return {
    patience,
    announce,
    endedBy: (signal) => createDownloads({ ...options, host: withSignal(host, signal) }, shared),
    close: () => void shared.connections?.then((connections) => connections.close()),
    async get(url, headers) {
      const waits = patience();
      const route = findRoute(parseBaseUrl(url.origin), host.env);
      const about = { http: { method: "GET", url: withoutQuery(url) } };
      for (let tries = 1; ; tries++) {
        shared.connections ??= import("./connections.ts").then(({ openConnections }) => openConnections(host));
        const connections = await shared.connections;
        const failureOf = (error: TransportError) =>
          connectionFailed(error, { route, silenceMs, tries, setting: "the address" }, about);
        const got = await requestFile(options, { connections, url, route, headers, tries, toFailure: failureOf });
        if (!(got instanceof TransportError)) {
          shared.reachedOrigins.add(url.origin);
          if (!isTransientStatus(got.status) || !(await waits.wait(got.retryAfterMs, got.cancel))) return got;
          continue;
        }
        const canRetry = isRetryable(got, waitsForHost || shared.reachedOrigins.has(url.origin));
        if (!canRetry || !(await waits.wait(undefined))) throw failureOf(got);
        if (tries >= triesBeforeNotice) announce(failureOf(got));
      }
    },
  };
};

/** Bytes of a body that are read ahead. */
const readAheadBytes = 2 ** 18;

/** A request for a file. */
interface FileRequest {
  readonly connections: Connections;
  readonly url: URL;
  readonly route: Route;
  readonly headers: Headers;
  readonly tries: number;
  readonly toFailure: (error: TransportError) => Failure;
}

/** Sends one request. @throws the signal's reason */
const requestFile = async (
  { host, trace, timeoutMs }: DownloadOptions,
  file: FileRequest,
): Promise<DownloadReply | TransportError> => {
  const { connections, url, route, tries, toFailure: failureOf } = file;
  host.signal.throwIfAborted();
  const headers = [...file.headers, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(host)]] as const;
  const traceReply = traceRequest({ trace, host }, { method: "GET", url: withoutQuery(url), headers });
  const stopping = new AbortController();
  let resume = (): void => undefined;
  const body = new Readable({
    highWaterMark: readAheadBytes,
    read: () => resume(),
    destroy(error, callback) {
      stopping.abort();
      callback(error);
    },
  });
  // An error may come before the body is read.
  body.on("error", () => undefined);
  const connection = await connections.reuse(route);
  const got = await new Promise<DownloadReply | TransportError>((resolve) => {
    const replied = runExchange(connection, {
      method: "GET",
      route,
      path: `${url.pathname}${url.search}`,
      headers,
      silenceMs: timeoutMs ?? maxReadSilenceMs,
      signal: withSignal(host, stopping.signal).signal,
      maxBytes: 0,
      onHead(status, headers) {
        traceReply({ status, headers, error: undefined }, Number(headers["content-length"] ?? 0));
        const reply = { status, headers, tries, retryAfterMs: parseRetryAfter(headers, host.now()) };
        resolve({ ...reply, chunks: () => body, cancel: () => void body.destroy() });
      },
      onPiece(piece, resumeReply) {
        resume = resumeReply;
        return body.push(piece);
      },
    });
    void replied.then(({ error }) => {
      if (error === undefined) return body.push(null);
      trace?.(`* ${error.code}`);
      body.destroy(host.signal.aborted ? host.signal.reason : failureOf(error));
      return resolve(error);
    });
  });
  host.signal.throwIfAborted();
  return got;
};

/** A query can have secrets. */
const withoutQuery = ({ origin, pathname }: URL): string => `${origin}${pathname}`;

interface ProbeOptions {
  readonly host: Host;
  readonly address: string;
  readonly of: EndpointHost;
  /** Longest silence, and longest time as a whole. */
  readonly silenceMs: number;
}

/** The reply of an address. */
export interface ProbeResult {
  readonly status: number;
  /** True if it is a web page, by its own headers. */
  readonly isPage: boolean;
  /** Host and port of the proxy in between. */
  readonly proxy: string | undefined;
}

/** Asks an address what every server of HTTP/1.1 answers, without a secret. @throws Failure; the signal's reason */
export const probeUrl = async ({ host, address, of, silenceMs }: ProbeOptions): Promise<ProbeResult> => {
  const { signal } = host;
  const route = findRoute(parseBaseUrl(address), host.env);
  const { openConnections } = await import("./connections.ts");
  const connections = openConnections(host);
  try {
    const connection = await connections.open(route);
    const { status, headers, error } = await runExchange(connection, {
      method: "HEAD",
      route,
      path: route.to.path || "/",
      headers: [["User-Agent", "rollcall doctor"]],
      silenceMs,
      wholeMs: silenceMs,
      signal,
      maxBytes: 0,
    });
    signal.throwIfAborted();
    const isPage = /^(text\/html|application\/xhtml)/i.test(headers["content-type"] ?? "");
    if (status !== undefined) return { status, isPage, proxy: route.proxy?.hostAndPort };
    const setting = urlSettingOf(of);
    const about = { where: { setting } };
    throw connectionFailed(error ?? new TransportError("CUT"), { route, silenceMs, tries: 1, setting }, about);
  } finally {
    connections.close();
  }
};
