/** Listens: limits on headers and time, and an end that answers what is in flight. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { Failure, type ReasonData } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Bindings } from "./app.ts";
import type { Watch } from "./watch.ts";

/** A listening server. */
export interface Listening {
  readonly url: string;
  /** Answers what is in flight, refuses what comes new. False where something had to be broken off. */
  close(): Promise<boolean>;
}

/** Where and what is listened with. */
interface ListenOptions {
  readonly app: Hono<Bindings>;
  /** What a failure calls it. */
  readonly server: ReasonData<"address-unusable">["server"];
  readonly address: string;
  readonly port: number;
  /** Bytes of a request before its body, at most; 16 KiB where nothing is said. */
  readonly maxHeaderBytes?: number;
  /** Told every exchange when it has ended. */
  readonly trace: ((line: string) => void) | undefined;
  /** Told of every exchange, where anybody watches. */
  readonly watch?: Watch;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
}

/** How long a client has for its headers, and for its whole request. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 300_000;

/** Node's own, named so that nobody's environment changes it. */
const usualHeaderBytes = 16_384;

/** How long an idle connection is kept: longer than clients keep theirs, so that none is closed as it is used again. */
const keepAliveTimeoutMs = 65_000;

/** How long what is in flight may take once the service stops. */
const graceMs = 10_000;

/** Listens. @throws Failure `address-unusable` */
export const listen = async (options: ListenOptions): Promise<Listening> => {
  const { server: title, address, port } = options;
  const connections = new Set<Duplex>();
  const exchanges = new Map<Duplex, ServerResponse>();
  let closing = false;
  let onIdle = (): void => undefined;
  const handle = listenerOf(options, { exchanges, isClosing: () => closing, onIdle: () => onIdle() });
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderBytes ?? usualHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: 2_000,
    },
    handle,
  );
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  // The body is asked for only once the request may send one.
  server.on("checkContinue", handle);
  server.on("clientError", (error, socket) => refuseBroken(error, socket, exchanges));
  await listening(server, { server: title, address, port });
  const bound = server.address();
  const realPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${realPort}`,
    close: async () => {
      closing = true;
      const destroyIdle = (): void => {
        for (const socket of connections) if (!exchanges.has(socket) && !socket.writableEnded) socket.destroy();
      };
      for (const outgoing of exchanges.values()) endConnection(outgoing);
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
        if (exchanges.size === 0) resolve();
      });
      return await closed(server, idle.then(destroyIdle));
    },
  };
};

const listening = (server: Server, where: Pick<ListenOptions, "server" | "address" | "port">): Promise<void> =>
  new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      reject(new Failure("address-unusable", { ...where, code: codeOf(error) }, { cause: error }));
    };
    server.once("error", onError);
    server.listen(where.port, where.address, () => {
      server.off("error", onError);
      // A connection that can't be accepted is not the end of the others.
      server.on("error", () => undefined);
      resolve();
    });
  });

/** What is being answered, and whether anything else is. */
interface Exchanges {
  readonly exchanges: Map<Duplex, ServerResponse>;
  readonly isClosing: () => boolean;
  /** Told when the last of them has ended. */
  readonly onIdle: () => void;
}

/** Where those who balance load look, until the end. */
const places = /^\/(?:healthz|readyz)$/;

const listenerOf = (
  { app, trace, watch, elapsed }: ListenOptions,
  { exchanges, isClosing, onIdle }: Exchanges,
): RequestListener => {
  const answer = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => Response.json({ detail: "Bad Request" }, { status: 400 }),
  });
  return (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming;
    const start = elapsed();
    exchanges.set(socket, outgoing);
    watch?.begin(incoming);
    if (watch !== undefined) outgoing.setHeader("X-Request-Id", watch.of(incoming).id);
    outgoing.on("close", () => {
      if (exchanges.get(socket) === outgoing) exchanges.delete(socket);
      watch?.end(incoming, outgoing, elapsed() - start);
      if (exchanges.size === 0) onIdle();
      trace?.(`${incoming.method} ${incoming.url} ${outgoing.statusCode} ${Math.round(elapsed() - start)} ms`);
    });
    if (isClosing()) endConnection(outgoing);
    if (!isClosing() || places.test(incoming.url ?? "")) return void answer(incoming, outgoing);
    outgoing.writeHead(503, { "Content-Type": "application/json", "Retry-After": "1", Connection: "close" });
    outgoing.end(JSON.stringify({ detail: "the service is stopping" }));
  };
};

const endConnection = (outgoing: ServerResponse): void => {
  if (!outgoing.headersSent) outgoing.setHeader("Connection", "close");
};

/** Whether all connections ended by themselves. Until nothing is in flight, whoever comes is told to come again. */
const closed = (server: Server, idle: Promise<void>): Promise<boolean> =>
  new Promise((resolve) => {
    let broken = false;
    const timer = setTimeout(() => {
      broken = true;
      server.closeAllConnections();
    }, graceMs);
    const onClosed = (): void => {
      clearTimeout(timer);
      resolve(!broken);
    };
    void idle.then(() => server.close(onClosed));
  });

const brokenStatuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Answers what is no request, or took too long to become one, where nothing was answered yet. */
const refuseBroken = (error: Error, socket: Duplex, exchanges: Map<Duplex, ServerResponse>): void => {
  const code = codeOf(error);
  if (code === "ECONNRESET" || !socket.writable || exchanges.get(socket)?.headersSent === true)
    return void socket.destroy();
  const status = brokenStatuses[code] ?? "400 Bad Request";
  const body = JSON.stringify({ detail: status.slice(4) });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
};
