/** Listens for HTTP requests, with limits on headers and time. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { Failure } from "../../failure.ts";
import { getErrorCode } from "../../system/files.ts";
import { describeSystemCode } from "../../text/sentences.ts";

export type Bindings = { Bindings: HttpBindings };

export interface ListenOptions {
  readonly serverName: "the local service" | "`rollcall view`";
  readonly address: string;
  readonly port: number;
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

/** @throws Failure `cannot-listen` */
export const listen = async (options: ListenOptions) => {
  const { trace, elapsed, maxHeaderBytes = limits.maxHeaderSize } = options;
  const answer = getRequestListener(options.app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => Response.json({ detail: "Bad Request" }, { status: 400 }),
  });
  const responses = new OpenResponses();
  const handle: RequestListener = (incoming, outgoing) => {
    const start = elapsed();
    responses.add(outgoing, incoming.socket);
    outgoing.on("close", () => {
      trace?.(`${incoming.method} ${incoming.url} ${outgoing.statusCode} ${Math.round(elapsed() - start)} ms`);
    });
    void answer(incoming, outgoing);
  };
  const server = createServer({ ...limits, maxHeaderSize: maxHeaderBytes }, handle);
  server.on("connection", (socket) => responses.addConnection(socket));
  server.on("checkContinue", handle);
  const url = await startListening(server, options);
  return { url, close: async () => await responses.close(server) };
};

class OpenResponses {
  readonly #connections = new Set<Duplex>();
  readonly #responses = new Map<Duplex, ServerResponse>();
  #isClosing = false;
  #onIdle = (): void => undefined;

  addConnection(socket: Duplex) {
    this.#connections.add(socket);
    socket.on("close", () => this.#connections.delete(socket));
  }

  add(response: ServerResponse, socket: Duplex) {
    this.#responses.set(socket, response);
    response.on("close", () => {
      if (this.#responses.get(socket) === response) this.#responses.delete(socket);
      if (this.#responses.size === 0) this.#onIdle();
    });
    if (this.#isClosing) closeAfterResponse(response);
  }

  /** Waits for requests in flight. After `maxCloseMs`, aborts these requests and resolves with false. */
  async close(server: Server) {
    this.#isClosing = true;
    for (const response of this.#responses.values()) closeAfterResponse(response);
    return await new Promise<boolean>((resolve) => {
      let hasAborted = false;
      const timer = setTimeout(() => {
        hasAborted = true;
        server.closeAllConnections();
      }, maxCloseMs);
      // While requests are in flight, new requests still get an answer.
      this.#onIdle = () => {
        this.#onIdle = () => undefined;
        for (const socket of this.#connections)
          if (!this.#responses.has(socket) && !socket.writableEnded) socket.destroy();
        server.close(() => {
          clearTimeout(timer);
          resolve(!hasAborted);
        });
      };
      if (this.#responses.size === 0) this.#onIdle();
    });
  }
}

/** Returns the URL of the server. @throws Failure `cannot-listen` */
const startListening = async (server: Server, options: ListenOptions) => {
  const { serverName, address, port } = options;
  server.listen(port, address);
  await once(server, "listening").catch((cause: unknown) => {
    const reason = describeSystemCode(getErrorCode(cause));
    const message = `${serverName} cannot listen on ${address}, port ${port}: ${reason}`;
    const orAddress = serverName === "the local service" ? ", or another address with --host" : "";
    const hint = `choose another port with --port (0 picks a free one)${orAddress}`;
    throw new Failure("usage", "cannot-listen", message, { hint, cause });
  });
  server.on("error", () => undefined);
  const bound = server.address();
  const boundPort = typeof bound === "object" ? bound?.port : port;
  return `http://${address.includes(":") ? `[${address}]` : address}:${boundPort}`;
};

const closeAfterResponse = (outgoing: ServerResponse) => {
  if (!outgoing.headersSent) outgoing.setHeader("Connection", "close");
};
