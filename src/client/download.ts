/** Requests to URLs outside the service's interface: downloads, and the probes of `doctor`. */
import { Readable } from "node:stream";
import type { Failure } from "../failure.ts";
import { type Host, withSignal } from "../host.ts";
import type { Connections } from "./connections.ts";
import { isRetryable, type OutgoingRequest, type ReplyHeaders, runExchange, TransportError } from "./exchange.ts";
import { connectionFailed, isTransientStatus } from "./failures.ts";
import type { ClientOptions, RetryBudget } from "./index.ts";
import { type Headers, traceRequest, userAgent } from "./request.ts";
import { findRoute, parseBaseUrl, type Route } from "./route.ts";
import { openRetryBudget, parseRetryAfter, readSilenceMs, triesBeforeNotice } from "./send.ts";

export interface DownloadOptions
  extends Pick<ClientOptions, "host" | "timeoutMs" | "maxWaitMs" | "waitsForHost" | "onRetry" | "trace"> {
  /** Default: GET. */
  readonly method?: "GET" | "HEAD";
  /** The setting with the URL, if there is one. */
  readonly setting?: string;
}

/** The status and headers of a reply, and access to its body. */
export interface DownloadReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The wait that the server asks for, if any. */
  readonly retryAfterMs: number | undefined;
  readonly tries: number;
  /** Yields the body as it arrives. @throws Failure `connection-failed` if the body ends early; the signal's reason */
  chunks(): AsyncIterable<Uint8Array>;
  /** Ends the request. The rest of the body is not read. */
  cancel(): void;
}

/** Downloads over connections that are reused. The caller closes them. */
export interface Downloads {
  /** Repeats a request until the reply is final, or the retry budget is spent. @throws Failure; the signal's reason */
  get(url: URL, headers: Headers): Promise<DownloadReply>;
  retryBudget(): RetryBudget;
  announce(why: Failure): void;
  /** Returns downloads that end with this signal too, over the same connections. */
  endedBy(signal: AbortSignal): Downloads;
  close(): void;
}

/** The state that all downloads of a run share. */
interface SharedState {
  connections: Promise<Connections> | undefined;
  readonly reachedOrigins: Set<string>;
  isRetryAnnounced: boolean;
}

/** Opens downloads. Nothing connects before a request. */
export const openDownloads = (options: DownloadOptions): Downloads =>
  createDownloads(options, { connections: undefined, reachedOrigins: new Set(), isRetryAnnounced: false });

const createDownloads = (options: DownloadOptions, shared: SharedState): Downloads => {
  const { host, maxWaitMs, waitsForHost, onRetry, timeoutMs: silenceMs = readSilenceMs, setting } = options;
  const announce = (why: Failure) => {
    if (!shared.isRetryAnnounced) onRetry?.(why, maxWaitMs);
    shared.isRetryAnnounced = true;
  };
  return {
    retryBudget: () => openRetryBudget(options),
    announce,
    endedBy: (signal) => createDownloads({ ...options, host: withSignal(host, signal) }, shared),
    close: () => void shared.connections?.then((connections) => connections.close()),
    async get(url, headers) {
      const budget = openRetryBudget(options);
      const route = findRoute(parseBaseUrl(url.origin), host.env);
      const where = setting === undefined ? {} : { where: { setting } };
      const details = { ...where, http: { method: options.method ?? "GET", url: withoutQuery(url) } };
      for (let tries = 1; ; tries++) {
        shared.connections ??= import("./connections.ts").then(({ openConnections }) => openConnections(host));
        const connections = await shared.connections;
        const toFailure = (error: TransportError) =>
          connectionFailed(error, { route, silenceMs, tries, setting: setting ?? "the URL" }, details);
        const reply = await requestFile(options, { connections, url, route, headers, tries, toFailure });
        if (!(reply instanceof TransportError)) {
          shared.reachedOrigins.add(url.origin);
          if (!isTransientStatus(reply.status) || !(await budget.wait(reply.retryAfterMs, reply.cancel))) return reply;
          continue;
        }
        const canRetry = isRetryable(reply, waitsForHost || shared.reachedOrigins.has(url.origin));
        if (!canRetry || !(await budget.wait(undefined))) throw toFailure(reply);
        if (tries >= triesBeforeNotice) announce(toFailure(reply));
      }
    },
  };
};

/** Bytes of a body that are read ahead. */
const readAheadBytes = 2 ** 18;

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
  { host, trace, timeoutMs: silenceMs = readSilenceMs, method = "GET" }: DownloadOptions,
  { connections, url, route, tries, toFailure, headers: ownHeaders }: FileRequest,
): Promise<DownloadReply | TransportError> => {
  host.signal.throwIfAborted();
  const headers = [...ownHeaders, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(host)]] as const;
  const traceReply = traceRequest({ trace, host }, { method, url: withoutQuery(url), headers });
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
  const { signal } = withSignal(host, stopping.signal);
  const path = `${url.pathname}${url.search}`;
  const reply = await new Promise<DownloadReply | TransportError>((resolve) => {
    const request: OutgoingRequest = {
      method,
      route,
      path,
      headers,
      silenceMs,
      signal,
      maxBytes: 0,
      onHead(status, headers) {
        traceReply({ status, headers, error: undefined }, Number(headers["content-length"] ?? 0));
        const retryAfterMs = parseRetryAfter(headers, host.now());
        resolve({ status, headers, tries, retryAfterMs, chunks: () => body, cancel: () => void body.destroy() });
      },
      onPiece(piece, resumeReply) {
        resume = resumeReply;
        return body.push(piece);
      },
    };
    void runExchange(connection, request).then(({ error }) => {
      if (error === undefined) return body.push(null);
      trace?.(`* ${error.code}`);
      body.destroy(host.signal.aborted ? host.signal.reason : toFailure(error));
      return resolve(error);
    });
  });
  host.signal.throwIfAborted();
  return reply;
};

/** Removes the query, which can contain secrets. */
const withoutQuery = ({ origin, pathname }: URL): string => `${origin}${pathname}`;

/** Sends HEAD, which every HTTP/1.1 server answers, without a credential. @throws Failure; the signal's reason */
export const probeUrl = async (
  url: string,
  { host, setting, silenceMs }: { readonly host: Host; readonly setting: string; readonly silenceMs: number },
) => {
  const limits = { timeoutMs: silenceMs, maxWaitMs: 0, waitsForHost: false };
  const downloads = openDownloads({ host, setting, method: "HEAD", ...limits, trace: undefined });
  try {
    const { status, headers, cancel } = await downloads.get(new URL(url), []);
    cancel();
    const isPage = /^(text\/html|application\/xhtml)/i.test(headers["content-type"] ?? "");
    return { status, isPage, proxy: findRoute(parseBaseUrl(url), host.env).proxy?.hostAndPort };
  } finally {
    downloads.close();
  }
};
