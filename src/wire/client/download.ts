/** Downloads files. */
import { Readable } from "node:stream";
import type { Failure } from "../../failure.ts";
import { withSignal } from "../../system/host.ts";
import { traceRequest, userAgent } from "./build-request.ts";
import type { Connections } from "./connections.ts";
import { type Headers, type OutgoingRequest, type ReplyHeaders, runExchange } from "./exchange.ts";
import { connectionFailed } from "./failures.ts";
import type { ClientOptions, Retry } from "./request-options.ts";
import { isTransientStatus, openReadBudget, openRetryNotices, parseRetryAfter, readSilenceMs } from "./retry.ts";
import { findRoute, withoutQuery } from "./route.ts";
import { isRetryable, TransportError } from "./transport-error.ts";

export interface DownloadOptions
  extends Pick<
    ClientOptions,
    "host" | "timeoutMs" | "maxWaitMs" | "retries" | "waitsForHost" | "onRetry" | "trace" | "clean"
  > {}

export type DownloadReply = Readonly<{
  status: number;
  headers: ReplyHeaders;
  retryAfterMs: number | undefined;
  /** @throws Failure `connection-failed` if the download fails, or the reason of an aborted `host.signal` */
  chunks(): AsyncIterable<Uint8Array>;
  cancel(): void;
}>;

type DownloadRequest = Pick<OutgoingRequest, "method" | "route" | "headers" | "silenceMs" | "totalMs" | "connectMs">;

const maxBufferedBytes = 2 ** 18;

/** Stops the transfer when the reader leaves. */
const openBody = (stopping: AbortController, resume: () => void) =>
  new Readable({
    highWaterMark: maxBufferedBytes,
    read: resume,
    destroy(error, callback) {
      stopping.abort();
      callback(error);
    },
  }).on("error", () => undefined);

export class Downloads {
  readonly #options: DownloadOptions;
  readonly #announceRetry: ReturnType<typeof openRetryNotices>;
  readonly #reachedOrigins = new Set<string>();
  #connections: Promise<Connections> | undefined;

  constructor(options: DownloadOptions) {
    this.#options = options;
    this.#announceRetry = openRetryNotices(options.onRetry);
  }

  close = () => void this.#connections?.then((connections) => connections.close());

  /** @throws Failure; the signal's reason */
  async get(url: URL, ownHeaders: Headers): Promise<DownloadReply> {
    const { host, waitsForHost, timeoutMs: silenceMs = readSilenceMs } = this.#options;
    const budget = openReadBudget(this.#options, silenceMs);
    const route = findRoute(url, host.env);
    const headers = [...ownHeaders, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(host)]] as const;
    const details = { http: { method: "GET", url: withoutQuery(url) } };
    for (let attempt = 2; ; attempt++) {
      const context = { route, silenceMs, attempts: attempt - 1, setting: "the URL" };
      const toFailure = (error: TransportError) => connectionFailed(error, context, details);
      const tried = await this.#request(
        url,
        { method: "GET", route, headers, silenceMs, ...budget.limits() },
        toFailure,
      );
      const [reply, error] = tried instanceof TransportError ? [undefined, tried] : [tried, undefined];
      if (reply) this.#reachedOrigins.add(url.origin);
      const waits = waitsForHost || this.#reachedOrigins.has(url.origin);
      const canRetry = reply ? isTransientStatus(reply.status) : isRetryable(error, waits);
      const onWait = (retry: Retry) => {
        reply?.cancel();
        this.#announceRetry(reply ? `${url.host} answered ${reply.status}` : toFailure(error).message, retry);
      };
      if (canRetry && (await budget.wait(reply?.retryAfterMs, { attempt, onWait }))) continue;
      if (reply) return reply;
      throw toFailure(error);
    }
  }

  async #request(url: URL, outgoing: DownloadRequest, toFailure: (error: TransportError) => Failure) {
    const { host, trace } = this.#options;
    const { method, route, headers } = outgoing;
    host.signal.throwIfAborted();
    this.#connections ??= import("./connections.ts").then(({ Connections }) => new Connections());
    const connection = await (await this.#connections).open(route, true);
    const traceReply = traceRequest(this.#options, { method, url: withoutQuery(url), headers });
    const stopping = new AbortController();
    let resumeReply = (): void => undefined;
    const body = openBody(stopping, () => resumeReply());
    const { signal } = withSignal(host, stopping.signal);
    const reply = await new Promise<DownloadReply | TransportError>((resolve) => {
      const exchange = runExchange(connection, {
        ...outgoing,
        signal,
        maxReplyLength: 0,
        path: url.pathname + url.search,
        onHead(status, headers) {
          traceReply({ status, headers, error: undefined }, Number(headers["content-length"] ?? 0));
          const { retryAfterMs } = parseRetryAfter(headers, host.now());
          resolve({ status, headers, retryAfterMs, chunks: () => body, cancel: () => void body.destroy() });
        },
        onReplyPiece(piece, resume) {
          resumeReply = resume;
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
  }
}
