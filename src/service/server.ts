/** Listens, with limits on headers and time. Its end answers what is in flight. */

import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { getErrorCode } from "../files.ts";
import type { Bindings } from "./app.ts";
import { cannotListen, type ServerName } from "./failures.ts";
import type { Telemetry } from "./telemetry.ts";

interface ListenOptions {
  readonly app: Hono<Bindings>;
  /** The name of the server in a failure. */
  readonly server: ServerName;
  readonly address: string;
  readonly port: number;
  /** Bytes of a request before its body. Default: 16 KiB, as in Node, whatever its environment says. */
  readonly maxHeaderBytes?: number;
  /** Called with a line about each exchange that ended. */
  readonly trace: ((line: string) => void) | undefined;
  readonly watch?: Telemetry;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
}

const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  // Longer than clients keep theirs, so that no connection is closed just when it is used again.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};

/** How long what is in flight may take after the service is stopped. */
const graceMs = 10_000;

/** @throws Failure `cannot-listen` */
export const listen = async (options: ListenOptions) => {
  const { address, port, maxHeaderBytes = limits.maxHeaderSize } = options;
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
    const { trace, watch, elapsed } = options;
    const start = elapsed();
    responses.set(socket, outgoing);
    watch?.begin(incoming);
    if (watch !== undefined) outgoing.setHeader("X-Request-Id", watch.of(incoming).id);
    outgoing.on("close", () => {
      const ms = elapsed() - start;
      if (responses.get(socket) === outgoing) responses.delete(socket);
      watch?.end(incoming, outgoing, ms);
      if (responses.size === 0) onIdle();
      trace?.(`${incoming.method} ${incoming.url} ${outgoing.statusCode} ${Math.round(ms)} ms`);
    });
    if (isClosing) closeAfterResponse(outgoing);
    void answer(incoming, outgoing);
  };
  const server = createServer({ ...limits, maxHeaderSize: maxHeaderBytes }, handle);
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  // The application asks for the body once the request may send one.
  server.on("checkContinue", handle);
  server.on("clientError", (error, socket) => answerMalformed(error, socket, responses.get(socket)));
  await new Promise<void>((resolve, reject) => {
    const onError = (cause: Error): void => reject(cannotListen(options, cause));
    server.once("error", onError);
    server.listen(port, address, () => {
      server.off("error", onError);
      // A connection that cannot be accepted is not the end of the others.
      server.on("error", () => undefined);
      resolve();
    });
  });
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${boundPort}`,
    /** Answers what is in flight, and closes. False if a request was broken off. */
    close: async (): Promise<boolean> => {
      isClosing = true;
      for (const response of responses.values()) closeAfterResponse(response);
      return await new Promise((resolve) => {
        let isBroken = false;
        const timer = setTimeout(() => {
          isBroken = true;
          server.closeAllConnections();
        }, graceMs);
        // Until nothing is in flight, new requests are still answered.
        onIdle = () => {
          for (const socket of connections) if (!responses.has(socket) && !socket.writableEnded) socket.destroy();
          server.close(() => {
            clearTimeout(timer);
            resolve(!isBroken);
          });
          onIdle = () => undefined;
        };
        if (responses.size === 0) onIdle();
      });
    },
  };
};

const closeAfterResponse = (outgoing: ServerResponse): void => {
  if (!outgoing.headersSent) outgoing.setHeader("Connection", "close");
};

const malformedStatuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Answers what is not a request, or took too long to become one, if nothing was answered yet. */
const answerMalformed = (error: Error, socket: Duplex, response: ServerResponse | undefined): void => {
  const code = getErrorCode(error);
  if (code === "ECONNRESET" || !socket.writable || response?.headersSent === true) return void socket.destroy();
  const status = malformedStatuses[code] ?? "400 Bad Request";
  const body = JSON.stringify({ detail: status.slice("400 ".length) });
  const headers = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close"];
  socket.end(`HTTP/1.1 ${status}\r\n${headers.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
};
