/** Connects: plain or over TLS, straight or through a proxy. */
import { Agent, type ClientRequestArgs } from "node:http";
import { connect, isIP, Socket } from "node:net";
import type { Address, ProxyServer, Route } from "./proxy.ts";
import { Trouble, troubleOf } from "./trouble.ts";

/** How long connecting may take, names, proxies and TLS included (promises.md, "Global options"). */
export const connectTimeoutMs = 10_000;

/**
 * How long one of several addresses of a name has before the next is tried. Node's own 250 ms
 * gives up on machines that are a slow link away; much more is felt where one family of addresses leads nowhere.
 */
const attemptTimeoutMs = 500;

/** How long a quiet connection waits before the system asks whether the other side is still there. */
const keepAliveDelayMs = 60_000;

/**
 * How long a connection may idle after a whole reply and still be used: other sides close theirs after some seconds, and
 * nobody can know what became of a log that was sent on one just then.
 */
const idleMs = 1000;

/** The connections of one client. */
export class Connections extends Agent {
  constructor() {
    super({ keepAlive: true, keepAliveMsecs: keepAliveDelayMs, timeout: idleMs });
  }

  override createConnection(
    { way }: ClientRequestArgs & { readonly way: { readonly route: Route; readonly signal: AbortSignal } },
    callback: (error: Error | null, socket: Socket) => void = () => undefined,
  ): undefined {
    openSocket(way.route, way.signal).then(
      (socket) => callback(null, socket),
      // Node's types want a socket beside the error too.
      (thrown) => callback(thrown, new Socket()),
    );
  }
}

/** Connects. @throws Trouble */
export const openSocket = async ({ to, proxy }: Route, signal: AbortSignal): Promise<Socket> => {
  const bound = boundOf(signal);
  try {
    const first = await bound.ready(plain(proxy?.address ?? to), "connect");
    const outer =
      proxy?.address.secure === true ? await bound.ready(await secured(first, proxy.address), "secureConnect") : first;
    if (!to.secure) return outer;
    const inner = proxy === undefined ? outer : await tunnel(outer, to, proxy);
    return await bound.ready(await secured(inner, to), "secureConnect");
  } catch (thrown) {
    throw bound.reason() ?? troubleOf(thrown);
  } finally {
    bound.end();
  }
};

const plain = ({ hostname, port }: Address): Socket => {
  const socket = connect({ host: hostname, port, autoSelectFamilyAttemptTimeout: attemptTimeoutMs, noDelay: true });
  return socket.setKeepAlive(true, keepAliveDelayMs);
};

const secured = async (socket: Socket, { hostname }: Address): Promise<Socket> => {
  const tls = await import("node:tls");
  const servername = isIP(hostname) === 0 ? hostname : "";
  return tls.connect({ socket, servername, host: hostname, ALPNProtocols: ["http/1.1"] });
};

/** Asks a proxy for a tunnel. The socket's end ends it too. */
const tunnel = async (socket: Socket, to: Address, { authorization }: ProxyServer): Promise<Socket> => {
  const { request } = await import("node:http");
  const authority = `${to.authority.replace(/:\d+$/, "")}:${to.port}`;
  const headers = { Host: authority, ...(authorization === undefined ? {} : { "Proxy-Authorization": authorization }) };
  const status = await new Promise<number | undefined>((resolve, reject) => {
    request({ method: "CONNECT", path: authority, createConnection: () => socket, headers })
      .once("connect", ({ statusCode }) => resolve(statusCode))
      .once("response", ({ statusCode }) => resolve(statusCode))
      .once("error", reject)
      .end();
  });
  if (status === 200) return socket;
  socket.destroy();
  throw new Trouble("PROXY_REFUSED", status === undefined ? {} : { status });
};

/** Waits for sockets until the time is up or the run is told to stop; then everything opened so far is destroyed. */
const boundOf = (signal: AbortSignal) => {
  const opened: Socket[] = [];
  let reason: Trouble | undefined;
  const stop = (why: Trouble) => {
    reason = why;
    for (const socket of opened) socket.destroy(why);
  };
  const abort = () => stop(new Trouble("ABORTED", { cause: signal.reason }));
  const timer = setTimeout(() => stop(new Trouble("CONNECT_TIMEOUT")), connectTimeoutMs);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return {
    reason: () => reason,
    ready: (socket: Socket, event: "connect" | "secureConnect") =>
      new Promise<Socket>((resolve, reject) => {
        opened.push(socket);
        // Kept for good: an error that comes when nobody asks any more is no crash.
        socket.on("error", reject);
        socket.once(event, () => resolve(socket));
        socket.once("close", () => reject(new Trouble("CUT")));
        if (reason !== undefined) socket.destroy(reason);
      }),
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    },
  };
};
