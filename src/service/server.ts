/** Listens: limits on headers and time, and an end that answers what is in flight. */
import { createServer, type Server } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { Failure } from "../failure.ts";

/** A listening server. */
export interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

/** How long a client has for its headers, and for its whole request. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 300_000;

/** How long an idle connection is kept: longer than clients keep theirs, so that none is closed as it is used again. */
const keepAliveTimeoutMs = 65_000;

/** Listens. @throws Failure `address-unusable` */
export const listen = async ({
  app,
  address,
  port,
}: {
  readonly app: Hono<{ Bindings: HttpBindings }>;
  readonly address: string;
  readonly port: number;
}): Promise<Listening> => {
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: 5_000,
    },
    getRequestListener(app.fetch, { overrideGlobalObjects: false }),
  );
  await listening(server, address, port);
  const bound = server.address();
  const realPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${realPort}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
};

const listening = (server: Server, address: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", (error) => {
      const code = "code" in error && typeof error.code === "string" ? error.code : "";
      reject(new Failure("address-unusable", { address, port, code }, { cause: error }));
    });
    server.listen(port, address, () => resolve());
  });
