/** Downloads files by their addresses, which are not part of the service's interface. The body of a reply is a stream. */
import { Readable } from "node:stream";
import type { Failure } from "../failure.ts";
import { withSignal } from "../host.ts";
import { connectionFailure, isPassing } from "./answers.ts";
import { retryAfterMs } from "./attempt.ts";
import type { ClientOptions, Patience } from "./client.ts";
import type { Connections } from "./connections.ts";
import { type Started, start } from "./exchange.ts";
import { type Headers, userAgent } from "./request.ts";
import { openPatience, readSilenceMs, triesBeforeNotice } from "./retry.ts";
import { addressOf, type Route, routeTo } from "./route.ts";
import { traceReply, traceRequest } from "./trace.ts";
import { isHostMissing, isPermanent, TransportError } from "./transport-error.ts";

export type DownloadOptions = Pick<
  ClientOptions,
  "host" | "timeoutMs" | "maxWaitMs" | "waitsForHost" | "onAgain" | "trace"
>;

/** The head of a reply, with its body to come. */
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** How long the server asks to wait; undefined if it does not ask. */
  readonly retryAfterMs: number | undefined;
  readonly tries: number;
  /** Yields the body as it arrives. @throws Failure `no-connection` if it is cut; the signal's reason */
  chunks(): AsyncIterable<Uint8Array>;
  /** Gives up the rest of the body. */
  drop(): void;
}

/** Downloads over connections that are reused. The caller closes them. */
export interface Downloads {
  /**
   * Repeats a request until the reply is final, or patience is over. Returns the last reply.
   * @throws Failure `no-connection`, `proxy-unusable`; the signal's reason
   */
  get(url: URL, headers: Headers): Promise<Got>;
  patience(): Patience;
  announce(why: Failure): void;
  /** Returns the same downloads, which this signal ends, too. */
  within(signal: AbortSignal): Downloads;
  close(): void;
}

/** Opens downloads. Connects when something is requested. */
export const openDownloads = (options: DownloadOptions): Downloads => {
  let isAnnounced = false;
  const onAgain: DownloadOptions["onAgain"] = (why, maxWaitMs) => {
    if (!isAnnounced) options.onAgain?.(why, maxWaitMs);
    isAnnounced = true;
  };
  let opened: Promise<Connections> | undefined;
  const connections = () => {
    opened ??= import("./connections.ts").then(({ openConnections }) => openConnections(options.host));
    return opened;
  };
  const close = () => void opened?.then((connections) => connections.close());
  return downloadsOver({ ...options, onAgain }, { connections, close, reached: new Set() });
};

/** What all downloads of a run share: connections, and the origins that have replied. */
interface Shared {
  readonly connections: () => Promise<Connections>;
  readonly close: () => void;
  readonly reached: Set<string>;
}

const downloadsOver = (options: DownloadOptions, shared: Shared): Downloads => {
  const { host, maxWaitMs, waitsForHost, onAgain } = options;
  const { connections, close, reached } = shared;
  const announce = (why: Failure) => onAgain?.(why, maxWaitMs);
  const patience = () => openPatience(options);
  return {
    patience,
    announce,
    within: (signal) => downloadsOver({ ...options, host: withSignal(host, signal) }, shared),
    close,
    async get(url, headers) {
      const waits = patience();
      const route = routeTo(addressOf(url.origin), host.env);
      const own = [...headers, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(host)]] as const;
      for (let tries = 1; ; tries++) {
        const got = await request(options, { connections: await connections(), url, route, headers: own, tries });
        if ("status" in got) {
          reached.add(url.origin);
          if (!isPassing(got.status) || !(await waits.wait(got.retryAfterMs, got.drop))) return got;
          continue;
        }
        const { error, failure } = got;
        const isThere = waitsForHost || reached.has(url.origin) || !isHostMissing(error);
        if (!isThere || isPermanent(error) || !(await waits.wait(undefined))) throw failure;
        if (tries >= triesBeforeNotice) announce(failure);
      }
    },
  };
};

interface Wanted {
  readonly connections: Connections;
  readonly url: URL;
  readonly route: Route;
  readonly headers: Headers;
  readonly tries: number;
}

/** A request without a reply. */
interface NoReply {
  readonly error: TransportError;
  readonly failure: Failure;
}

/** Bytes of a body that are read ahead. */
const aheadBytes = 2 ** 18;

/** Sends one request. @throws the signal's reason */
const request = async (
  { host, trace, timeoutMs: silenceMs = readSilenceMs }: DownloadOptions,
  { connections, url, route, headers, tries }: Wanted,
): Promise<Got | NoReply> => {
  const { signal } = host;
  // A query can have secrets.
  const shown = { method: "GET", url: `${url.origin}${url.pathname}` };
  const noReply = (error: TransportError): NoReply => {
    trace?.(`* ${error.code}`);
    const asked = { route, silenceMs, tries, setting: "the address" };
    return { error, failure: connectionFailure(error, asked, { http: shown }) };
  };
  signal.throwIfAborted();
  const started = host.elapsed();
  traceRequest(trace, { ...shown, headers, project: undefined });
  const outgoing = { method: "GET", route, path: `${url.pathname}${url.search}`, headers } as const;
  const limits = { silenceMs, wholeMs: Number.POSITIVE_INFINITY, signal };
  const connection = await connections.reuse(route);
  const got = await new Promise<Got | NoReply>((resolve) => {
    let sent: Started | undefined;
    const body = new Readable({
      highWaterMark: aheadBytes,
      read: () => sent?.resume(),
      destroy(error, callback) {
        sent?.stop(new TransportError("ABORTED"));
        callback(error);
      },
    });
    // An error may come before the body is read.
    body.on("error", () => undefined);
    sent = start(connection, outgoing, limits, {
      head(status, replied) {
        if (status < 200) return;
        const bytes = Number(replied["content-length"] ?? 0);
        traceReply(trace, { status, headers: replied, bytes, error: undefined, tookMs: host.elapsed() - started });
        const drop = () => void body.destroy();
        const asked = retryAfterMs(replied, host.now());
        resolve({ status, headers: replied, retryAfterMs: asked, tries, chunks: () => body, drop });
      },
      data: (piece) => body.push(piece),
      end(error) {
        if (error === undefined) return body.push(null);
        const none = noReply(error);
        body.destroy(signal.aborted ? signal.reason : none.failure);
        return resolve(none);
      },
    });
  });
  signal.throwIfAborted();
  return got;
};
