/** An HTTP server with scripted exchanges. An unexpected request, or an unused exchange, fails the test. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server as NetServer } from "node:net";
import { createServer as createPlainServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A request without decoding or changes of case. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query of the request line. */
  readonly path: string;
  /** Names and values in the order and case of the request. */
  readonly rawHeaders: readonly string[];
  /** Names in lower case. */
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** A complete answer, or a function that writes one. */
export type Answer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  | ((request: RecordedRequest, response: ServerResponse) => void);

/** An expected exchange. With `when`, it answers the first request that matches, in any order. */
export interface Exchange {
  readonly when?: (request: RecordedRequest) => boolean;
  readonly answer: Answer;
}

/** A server that runs until its test is finished. */
export interface ScriptedServer {
  readonly url: string;
  /** The requests so far, in the order they were complete. */
  readonly received: readonly RecordedRequest[];
  /** The number of connections. */
  readonly connections: () => number;
}

export const json = (value: unknown, status = 200): Answer => ({
  status,
  headers: { "content-type": "application/json" },
  body: typeof value === "string" ? value : JSON.stringify(value),
});

/** Listens on a free loopback port until the test is finished. Every exchange must have been used by then. */
export const scriptedServer = async (exchanges: readonly Exchange[]): Promise<ScriptedServer> => {
  const received: RecordedRequest[] = [];
  const unexpected: string[] = [];
  const waiting = [...exchanges];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("error", () => undefined);
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const request = requestOf(incoming, Buffer.concat(chunks));
      received.push(request);
      const at = waiting.findIndex(({ when }) => when === undefined || when(request));
      const [exchange] = at < 0 ? [] : waiting.splice(at, 1);
      if (exchange === undefined) unexpected.push(`${request.method} ${request.path}`);
      answerWith(exchange?.answer ?? { status: 599 }, request, response);
    });
  });
  let count = 0;
  server.on("connection", () => count++);
  const { url } = await listenOnLoopback(server);
  onTestFinished(() => {
    if (unexpected.length > 0) throw new Error(`unexpected requests: ${unexpected.join(", ")}`);
    if (waiting.length > 0) throw new Error(`${waiting.length} of ${exchanges.length} exchanges were not used`);
  });
  return { url, received, connections: () => count };
};

/** Makes a server listen on a free loopback port until the test is finished, and then breaks open connections. */
export const listenOnLoopback = async (
  server: Server,
  finished: (then: () => Promise<void>) => void = onTestFinished,
): Promise<{ readonly port: number; readonly url: string }> => {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  const port = await portOf(server);
  finished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return { port, url: `http://127.0.0.1:${port}` };
};

export const portOf = async (server: NetServer): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
};

/** A port of loopback that nothing listens at. */
export const findClosedPort = async (): Promise<number> => {
  const server = createPlainServer();
  const port = await portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
};

const requestOf = (incoming: IncomingMessage, body: Buffer): RecordedRequest => ({
  method: incoming.method ?? "",
  path: incoming.url ?? "",
  rawHeaders: incoming.rawHeaders,
  headers: incoming.headers,
  body,
});

const answerWith = (answer: Answer, request: RecordedRequest, response: ServerResponse): void => {
  if (typeof answer === "function") {
    answer(request, response);
    return;
  }
  const { status = 200, headers = {}, body = "" } = answer;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
};
