/** Downloads files by their addresses, which are not part of the service's interface. The body of a reply is a stream. */
import type { IncomingMessage } from "node:http";
import { Failure } from "../failure.ts";
import { withSignal } from "../host.ts";
import { retryAfterMs } from "./attempt.ts";
import type { ClientOptions, Patience } from "./client.ts";
import { Connections } from "./connect.ts";
import { flat, guardOf, longestTimerMs, openRequest } from "./exchange.ts";
import { isPassing, noConnection } from "./failures.ts";
import { addressOf, type Route, routeTo } from "./proxy.ts";
import { type Headers, userAgent } from "./request.ts";
import { openPatience, readSilenceMs, triesBeforeNotice } from "./retry.ts";
import { traceReply, traceRequest } from "./trace.ts";
import { isHostMissing, isPermanent, Trouble, troubleOf } from "./trouble.ts";

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
  return downloadsOver({ ...options, onAgain }, { connections: new Connections(), reached: new Set() });
};

/** What all downloads of a run share: connections, and the origins that have replied. */
interface Shared {
  readonly connections: Connections;
  readonly reached: Set<string>;
}

const downloadsOver = (options: DownloadOptions, shared: Shared): Downloads => {
  const { host, maxWaitMs, waitsForHost, onAgain } = options;
  const { connections, reached } = shared;
  const announce = (why: Failure) => onAgain?.(why, maxWaitMs);
  const patience = () => openPatience({ host, maxWaitMs });
  return {
    patience,
    announce,
    within: (signal) => downloadsOver({ ...options, host: withSignal(host, signal) }, shared),
    close: () => connections.destroy(),
    async get(url, headers) {
      const waits = patience();
      const route = routeTo(addressOf(url.origin), host.env);
      const own = [...headers, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(host)]] as const;
      for (let tries = 1; ; tries++) {
        const got = await request(options, { connections, url, route, headers: own, tries });
        if ("status" in got) {
          reached.add(url.origin);
          if (!isPassing(got.status) || !(await waits.wait(got.retryAfterMs, got.drop))) return got;
          continue;
        }
        const { trouble, failure } = got;
        const isThere = waitsForHost || reached.has(url.origin) || !isHostMissing(trouble);
        if (!isThere || isPermanent(trouble) || !(await waits.wait(undefined))) throw failure;
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
  readonly trouble: Trouble;
  readonly failure: Failure<"no-connection">;
}

/** Sends one request. @throws the signal's reason */
const request = async (
  { host, trace, timeoutMs: silenceMs = readSilenceMs }: DownloadOptions,
  { connections, url, route, headers, tries }: Wanted,
): Promise<Got | NoReply> => {
  const { signal } = host;
  // A query can have secrets.
  const shown = { method: "GET", url: `${url.origin}${url.pathname}` };
  let stopped: Trouble | undefined;
  const noReply = (thrown: unknown): NoReply => {
    signal.throwIfAborted();
    if (thrown instanceof Failure) throw thrown;
    const trouble = stopped ?? troubleOf(thrown);
    trace?.(`* ${trouble.code}`);
    const asked = { route, silenceMs, tries, setting: "the address" };
    return { trouble, failure: noConnection(trouble, asked, { http: shown }) };
  };
  const chunksOf = async function* (reply: IncomingMessage): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of reply) yield chunk;
      if (!reply.complete) throw new Trouble("CUT");
    } catch (thrown) {
      throw noReply(thrown).failure;
    } finally {
      reply.destroy();
    }
  };
  signal.throwIfAborted();
  const started = host.elapsed();
  traceRequest(trace, { ...shown, headers, project: undefined });
  try {
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const head = { method: "GET", route, path: `${url.pathname}${url.search}`, headers: headers.flat() };
      const sent = openRequest({ agent: connections }, head, signal);
      const stop = (why: Trouble) => {
        stopped = why;
        sent.destroy();
      };
      sent.once("socket", (socket) => {
        const guard = guardOf(socket, { silenceMs, wholeMs: longestTimerMs, signal }, { stop });
        sent.once("close", guard.end);
      });
      // Stays: a later error must not end the process.
      sent.on("error", reject);
      sent.once("response", resolve).once("close", () => reject(new Trouble("CUT")));
      sent.end();
    });
    const replied = { status: reply.statusCode ?? 0, headers: flat(reply.headers) };
    const bytes = Number(replied.headers["content-length"] ?? 0);
    traceReply(trace, { ...replied, bytes, trouble: undefined, tookMs: host.elapsed() - started });
    const asked = retryAfterMs(replied.headers, host.now());
    const drop = () => void reply.destroy();
    return { ...replied, retryAfterMs: asked, tries, chunks: () => chunksOf(reply), drop };
  } catch (thrown) {
    return noReply(thrown);
  }
};
