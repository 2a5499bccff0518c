/** Downloads files, and probes URLs for `doctor`. */
import { Readable } from "node:stream";
import type { Failure } from "../../failure.ts";
import { withSignal } from "../../system/host.ts";
import { traceRequest, userAgent } from "./build-request.ts";
import type { Connections } from "./connections.ts";
import { type Headers, type OutgoingRequest, type ReplyHeaders, runExchange } from "./exchange.ts";
import { connectionFailed } from "./failures.ts";
import { findRoute } from "./proxy.ts";
import type { ClientOptions, Retry } from "./request-options.ts";
import { isTransientStatus, openReadBudget, openRetryNotices, parseRetryAfter, readSilenceMs } from "./retry.ts";
import { hostAndPort, withoutQuery } from "./route.ts";
import { isRetryable, TransportError } from "./transport-error.ts";

export interface DownloadOptions
  extends Pick<
    ClientOptions,
    "host" | "timeoutMs" | "maxWaitMs" | "retries" | "waitsForHost" | "onRetry" | "trace" | "clean"
  > {
  method?: "GET" | "HEAD";
  setting?: string;
}

export type DownloadReply = Readonly<{
  status: number;
  headers: ReplyHeaders;
  retryAfterMs: number | undefined;
  /** @throws Failure `connection-failed` if the download fails, or the reason of an aborted `host.signal` */
  chunks(): AsyncIterable<Uint8Array>;
  cancel(): void;
}>;

type DownloadRequest = Pick<OutgoingRequest, "route" | "headers" | "totalMs" | "connectMs">;

export type Downloads = ReturnType<typeof openDownloads>;

export const openDownloads = (options: DownloadOptions) => {
  const { host, waitsForHost, setting, trace } = options;
  const { method = "GET", timeoutMs: silenceMs = readSilenceMs } = options;
  let connections: Promise<Connections> | undefined;
  const announceRetry = openRetryNotices(options.onRetry);
  const reachedOrigins = new Set<string>();

  const request = async (url: URL, outgoing: DownloadRequest, toFailure: (error: TransportError) => Failure) => {
    host.signal.throwIfAborted();
    connections ??= import("./connections.ts").then(({ openConnections }) => openConnections());
    const connection = await (await connections).open(outgoing.route, true);
    const traceReply = traceRequest(options, { method, url: withoutQuery(url), headers: outgoing.headers });
    const stopping = new AbortController();
    let resume = (): void => undefined;
    const body = new Readable({
      highWaterMark: maxBufferedBytes,
      read: () => resume(),
      destroy(error, callback) {
        stopping.abort();
        callback(error);
      },
    });
    body.on("error", () => undefined);
    const { signal } = withSignal(host, stopping.signal);
    const reply = await new Promise<DownloadReply | TransportError>((resolve) => {
      const exchange = runExchange(connection, {
        ...outgoing,
        method,
        path: url.pathname + url.search,
        silenceMs,
        signal,
        maxReplyLength: 0,
        onHead(status, headers) {
          traceReply({ status, headers, error: undefined }, Number(headers["content-length"] ?? 0));
          const { retryAfterMs } = parseRetryAfter(headers, host.now());
          resolve({ status, headers, retryAfterMs, chunks: () => body, cancel: () => void body.destroy() });
        },
        onReplyPiece(piece, resumeReply) {
          resume = resumeReply;
          return body.push(piece);
        },
      });
      void exchange.then(({ error }) => {
        if (!error) return body.push(null);
        trace?.(`* ${error.code}`);
        body.destroy(host.signal.aborted ? host.signal.reason : toFailure(error));
        return resolve(error);
      });
    });
    host.signal.throwIfAborted();
    return reply;
  };

  return {
    close: () => void connections?.then((opened) => opened.close()),
    /** @throws Failure; the signal's reason */
    async get(url: URL, ownHeaders: Headers): Promise<DownloadReply> {
      const budget = openReadBudget(options, silenceMs);
      const route = findRoute(url, host.env);
      const headers = [...ownHeaders, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(host)]] as const;
      const where = setting === undefined ? {} : { where: { setting } };
      const details = { ...where, http: { method, url: withoutQuery(url) } };
      for (let attempt = 2; ; attempt++) {
        const context = { route, silenceMs, attempts: attempt - 1, setting: setting ?? "the URL" };
        const toFailure = (error: TransportError) => connectionFailed(error, context, details);
        const reply = await request(url, { route, headers, ...budget.limits() }, toFailure);
        if (reply instanceof TransportError) {
          const onWait = (retry: Retry) => announceRetry(toFailure(reply).message, retry);
          const canRetry = isRetryable(reply, waitsForHost || reachedOrigins.has(url.origin));
          if (!canRetry || !(await budget.wait(undefined, { attempt, onWait }))) throw toFailure(reply);
          continue;
        }
        reachedOrigins.add(url.origin);
        const onWait = (retry: Retry) => {
          reply.cancel();
          announceRetry(`${url.host} answered ${reply.status}`, retry);
        };
        const canRetry = isTransientStatus(reply.status);
        if (!canRetry || !(await budget.wait(reply.retryAfterMs, { attempt, onWait }))) return reply;
      }
    },
  };
};

const maxBufferedBytes = 2 ** 18;

/** @throws Failure; the signal's reason */
export const probeUrl = async (
  url: string,
  options: Pick<DownloadOptions, "host" | "timeoutMs" | "maxWaitMs"> & { setting: string },
) => {
  const once = { method: "HEAD", retries: false, waitsForHost: false } as const;
  const downloads = openDownloads({ ...options, ...once, trace: undefined });
  try {
    const to = new URL(url);
    const { status, headers, cancel } = await downloads.get(to, []);
    cancel();
    const isPage = /^(text\/html|application\/xhtml)/i.test(headers["content-type"] ?? "");
    const { proxy } = findRoute(to, options.host.env);
    return { status, isPage, proxy: proxy && hostAndPort(proxy.url) };
  } finally {
    downloads.close();
  }
};
