/** Gets files by their addresses, which are no part of the service's interface: what comes is a stream. */
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

/** How files are got. */
export type DownloadOptions = Pick<
  ClientOptions,
  "host" | "timeoutMs" | "maxWaitMs" | "waitsForHost" | "onAgain" | "trace"
>;

/** The head of an answer, with its body to come. */
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** How long the server asks to wait; undefined where it asks nothing that can be read. */
  readonly retryAfterMs: number | undefined;
  readonly tries: number;
  /** Gives the body to whom it is asked by, as it comes. @throws Failure `no-connection` where it breaks off; the signal's reason */
  chunks(): AsyncIterable<Uint8Array>;
  /** Gives up what is still to come. */
  drop(): void;
}

/** Gets files over connections that are used again. Must be closed. */
export interface Downloads {
  /**
   * Asks until an answer comes that says something for good, or patience is over: then with the last one.
   * @throws Failure `no-connection`, `proxy-unusable`; the signal's reason
   */
  get(url: URL, headers: Headers): Promise<Got>;
  patience(): Patience;
  announce(why: Failure): void;
  /** The same, until a signal ends it too. */
  within(signal: AbortSignal): Downloads;
  close(): void;
}

/** Opens downloads. Nothing is connected before something is asked for. */
export const openDownloads = (options: DownloadOptions): Downloads => {
  let isAnnounced = false;
  const onAgain: DownloadOptions["onAgain"] = (why, maxWaitMs) => {
    if (!isAnnounced) options.onAgain?.(why, maxWaitMs);
    isAnnounced = true;
  };
  return downloadsOver({ ...options, onAgain }, { connections: new Connections(), reached: new Set() });
};

/** What the downloads of a run have in common: their connections, and the origins that have answered. */
interface Ground {
  readonly connections: Connections;
  readonly reached: Set<string>;
}

const downloadsOver = (options: DownloadOptions, ground: Ground): Downloads => {
  const { host, maxWaitMs, waitsForHost, onAgain } = options;
  const { connections, reached } = ground;
  const announce = (why: Failure) => onAgain?.(why, maxWaitMs);
  const patience = () => openPatience({ host, maxWaitMs });
  return {
    patience,
    announce,
    within: (signal) => downloadsOver({ ...options, host: withSignal(host, signal) }, ground),
    close: () => connections.destroy(),
    async get(url, headers) {
      const waits = patience();
      for (let tries = 1; ; tries++) {
        const one = new Exchange(options, { url, headers, tries });
        const got = await one.send(connections).catch((thrown: unknown) => one.broken(thrown));
        if (!(got instanceof Trouble)) {
          reached.add(url.origin);
          if (!isPassing(got.status) || !(await waits.wait(got.retryAfterMs, got.drop))) return got;
          continue;
        }
        const failure = one.failureOf(got);
        const isThere = waitsForHost || reached.has(url.origin) || !isHostMissing(got);
        if (!isThere || isPermanent(got) || !(await waits.wait(undefined))) throw failure;
        if (tries >= triesBeforeNotice) announce(failure);
      }
    },
  };
};

class Exchange {
  readonly #options: DownloadOptions;
  readonly #url: URL;
  readonly #headers: Headers;
  readonly #tries: number;
  readonly #route: Route;
  readonly #silenceMs: number;
  /** Why it was broken off from here. */
  #stopped: Trouble | undefined;

  constructor(
    options: DownloadOptions,
    { url, headers, tries }: { readonly url: URL; readonly headers: Headers; readonly tries: number },
  ) {
    this.#options = options;
    this.#url = url;
    this.#headers = [...headers, ["Accept-Encoding", "identity"], ["User-Agent", userAgent(options.host)]];
    this.#tries = tries;
    this.#route = routeTo(addressOf(url.origin), options.host.env);
    this.#silenceMs = options.timeoutMs ?? readSilenceMs;
  }

  /** @throws what sockets and Node's HTTP client throw */
  async send(connections: Connections): Promise<Got> {
    const { host, trace } = this.#options;
    host.signal.throwIfAborted();
    const started = host.elapsed();
    traceRequest(trace, { method: "GET", url: plain(this.#url), headers: this.#headers, project: undefined });
    const reply = await this.#head(connections);
    const { statusCode: status = 0 } = reply;
    const headers = flat(reply.headers);
    const tookMs = host.elapsed() - started;
    const bytes = Number(headers["content-length"] ?? 0);
    traceReply(trace, { status, headers, bytes, trouble: undefined, tookMs });
    const drop = () => void reply.destroy();
    const chunks = () => this.#chunks(reply);
    return { status, headers, retryAfterMs: retryAfterMs(headers, host.now()), tries: this.#tries, chunks, drop };
  }

  /** The trouble that was thrown. @throws what is none: the signal's reason */
  broken(thrown: unknown): Trouble {
    const { host, trace } = this.#options;
    host.signal.throwIfAborted();
    if (thrown instanceof Failure) throw thrown;
    const trouble = this.#stopped ?? troubleOf(thrown);
    trace?.(`* ${trouble.code}`);
    return trouble;
  }

  failureOf(trouble: Trouble): Failure<"no-connection"> {
    const asked = { route: this.#route, silenceMs: this.#silenceMs, tries: this.#tries, setting: "the address" };
    return noConnection(trouble, asked, { http: { method: "GET", url: plain(this.#url) } });
  }

  #head(connections: Connections): Promise<IncomingMessage> {
    const { signal } = this.#options.host;
    const path = `${this.#url.pathname}${this.#url.search}`;
    const head = { method: "GET", route: this.#route, path, headers: this.#headers.flat() };
    return new Promise((resolve, reject) => {
      const sent = openRequest({ agent: connections }, head, signal);
      sent.once("socket", (socket) => {
        const stop = (why: Trouble) => {
          this.#stopped = why;
          sent.destroy();
        };
        const guard = guardOf(socket, { silenceMs: this.#silenceMs, wholeMs: longestTimerMs, signal }, { stop });
        sent.once("close", guard.end);
      });
      // Kept for good: an error that comes when nobody asks any more is no crash.
      sent.on("error", reject);
      sent.once("response", resolve).once("close", () => reject(new Trouble("CUT")));
      sent.end();
    });
  }

  async *#chunks(reply: IncomingMessage): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of reply) yield chunk;
      if (!reply.complete) throw new Trouble("CUT");
    } catch (thrown) {
      throw this.failureOf(this.broken(thrown));
    } finally {
      reply.destroy();
    }
  }
}

/** An address without what may be secret in it. */
const plain = ({ origin, pathname }: URL): string => `${origin}${pathname}`;
