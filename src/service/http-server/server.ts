/** Listens for HTTP requests, with limits on headers and time. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { cannotListen, type Listener } from "./failures.ts";

export type Bindings = { Bindings: HttpBindings };

export interface ListenOptions extends Listener {
  readonly app: { fetch: Parameters<typeof getRequestListener>[0] };
  readonly maxHeaderBytes?: number;
  readonly trace: ((line: string) => void) | undefined;
  readonly elapsed: () => number;
}

const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  // Most clients close idle connections earlier, and so never use a closed connection.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};
const maxCloseMs = 10_000;

export const listen = async (options: ListenOptions) => {
  const { trace, elapsed, maxHeaderBytes = limits.maxHeaderSize } = options;
  const connections = new Set<Duplex>();
  const responses = new Map<Duplex, ServerResponse>();
  let isClosing = false;
  let onIdle = (): void => undefined;
  const answer = getRequestListener(options.app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => Response.json({ detail: "Bad Request" }, { status: 400 }),
  });
  const handle: RequestListener = (incoming, outgoing) => {
    const { socket } = incoming;
    const start = elapsed();
    responses.set(socket, outgoing);
    outgoing.on("close", () => {
      if (responses.get(socket) === outgoing) responses.delete(socket);
      if (responses.size === 0) onIdle();
      trace?.(`${incoming.method} ${incoming.url} ${outgoing.statusCode} ${Math.round(elapsed() - start)} ms`);
    });
    if (isClosing) closeAfterResponse(outgoing);
    void answer(incoming, outgoing);
  };
  const server = createServer({ ...limits, maxHeaderSize: maxHeaderBytes }, handle);
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  server.on("checkContinue", handle);
  return {
    url: await startListening(server, options),
    /** Waits for requests in flight. After `maxCloseMs`, aborts these requests and resolves with false. */
    close: async () => {
      isClosing = true;
      for (const response of responses.values()) closeAfterResponse(response);
      return await new Promise<boolean>((resolve) => {
        let hasAborted = false;
        const timer = setTimeout(() => {
          hasAborted = true;
          server.closeAllConnections();
        }, maxCloseMs);
        // While requests are in flight, new requests still get an answer.
        onIdle = () => {
          for (const socket of connections) if (!responses.has(socket) && !socket.writableEnded) socket.destroy();
          server.close(() => {
            clearTimeout(timer);
            resolve(!hasAborted);
          });
          onIdle = () => undefined;
        };
        if (responses.size === 0) onIdle();
      });
    },
  };
};

/** Returns the URL of the server. @throws Failure `cannot-listen` */
const startListening = async (server: Server, options: ListenOptions) => {
  const { address, port } = options;
  server.listen(port, address);
  await once(server, "listening").catch((cause: unknown) => {
    throw cannotListen(options, cause);
  });
  server.on("error", () => undefined);
  const bound = server.address();
  const boundPort = typeof bound === "object" ? bound?.port : port;
  return `http://${address.includes(":") ? `[${address}]` : address}:${boundPort}`;
};

const closeAfterResponse = (outgoing: ServerResponse) => {
  if (!outgoing.headersSent) outgoing.setHeader("Connection", "close");
};
