/** Opens a client whose waits take no time and are recorded, and servers that fail like networks. */

import { createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { Failure } from "../../../src/failure.ts";
import { interrupted } from "../../../src/system/failures.ts";
import type { Host } from "../../../src/system/host.ts";
import type { ClientOptions } from "../../../src/wire/client/build-request.ts";
import { type Attempt, type Client, ServiceClient } from "../../../src/wire/client/client.ts";
import type { StreamedBody } from "../../../src/wire/client/exchange.ts";
import { logTrajectories } from "../../../src/wire/contract/endpoint.ts";
import { listModels } from "../../../src/wire/contract/reads.ts";
import { testHost } from "../../support/host.ts";
import { listenOnLoopback } from "../../support/server.ts";

export interface OpenClient {
  readonly client: Client;
  /** The waits before each retry, in milliseconds. */
  readonly waits: readonly number[];
  /** The lines of `--debug`. */
  readonly traced: readonly string[];
  interrupt(): void;
}

export type Overrides = Partial<Omit<ClientOptions, "host" | "address">> & {
  readonly env?: Readonly<Record<string, string>>;
  readonly random?: () => number;
  /** Default: waits take no time. */
  readonly sleep?: (ms: number) => Promise<void>;
  readonly elapsed?: () => number;
  /** Milliseconds since 1970. */
  readonly now?: number;
};

export const clientAt = (
  url: string | (() => string),
  { env = {}, random = () => 0.5, now = 0, sleep, elapsed, ...options }: Overrides = {},
): OpenClient => {
  const waits: number[] = [];
  const traced: string[] = [];
  const abort = new AbortController();
  let slept = 0;
  const host: Host = {
    ...testHost({ env }),
    nodeVersion: "20.0.0",
    now: () => now,
    elapsed: elapsed ?? (() => slept),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept += ms;
      waits.push(ms);
      await sleep?.(ms);
    },
    random,
    signal: abort.signal,
  };
  const client = new ServiceClient({
    host,
    baseUrl: typeof url === "string" ? () => url : url,
    credential: async () => ({ secret: "key-1", from: "ROLLCALL_API_KEY" }),
    project: undefined,
    timeoutMs: 5_000,
    maxWaitMs: 60_000,
    waitsForHost: true,
    insecureHttp: false,
    trace: (line) => traced.push(line),
    ...options,
  });
  onTestFinished(async () => await client.close());
  return { client, waits, traced, interrupt: () => abort.abort(interrupted({ signal: "SIGINT" })) };
};

export const failureOf = async (promise: Promise<unknown>): Promise<Failure> => {
  try {
    await promise;
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
  throw new Error("it did not fail");
};

export const list = { parameters: {}, body: undefined };

/** The failure of a request for a list of models, and the waits before its retries. */
export const listFailureOf = async ({ client, waits }: OpenClient) => {
  const failure = await failureOf(client.send(listModels, list));
  return { failure, waits };
};

export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly connections: () => number;
}

/** Listens until the test is finished. Calls `serve` with each connection and its number from 0. */
export const rawServer = async (
  serve: (socket: Socket, number: number) => void,
  server: Server = createServer(),
): Promise<RawServer> => {
  let count = 0;
  server.on("connection", (socket: Socket) => serve(socket, count++));
  const { port, url } = await listenOnLoopback(server);
  return { url, port, connections: () => count };
};

export const wireReply = (status: string, body: string, headers: readonly string[] = []): string =>
  [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, "", body].join("\r\n");

/** A body of `count` pieces of `size` bytes, and the number of pieces that were read. */
export const bodyOf = (count: number, size: number): StreamedBody & { readonly given: () => number } => {
  const piece = Buffer.alloc(size, "x");
  let given = 0;
  return {
    length: count * size,
    given: () => given,
    async *chunks() {
      for (let number = 0; number < count; number++) {
        given++;
        yield piece;
      }
    },
  };
};

export const mebibyte = 1024 * 1024;

export const attemptAt = async (
  url: string,
  body: StreamedBody = bodyOf(2, 5),
  overrides: Overrides = {},
): Promise<Attempt> =>
  await clientAt(url, overrides).client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });

/** A server that acts when it has read at least `count` bytes of a body, and then stops reading. */
export const serverAfter = async (count: number, act: (socket: Socket, seen: number) => void): Promise<RawServer> =>
  await rawServer((socket) => {
    let head = "";
    let seen = 0;
    socket.on("data", (chunk) => {
      if (head.includes("\r\n\r\n")) seen += chunk.length;
      else {
        head += chunk.toString("latin1");
        seen = Math.max(0, head.length - head.indexOf("\r\n\r\n") - 4);
      }
      if (!head.includes("\r\n\r\n") || seen < count) return;
      socket.pause().removeAllListeners("data");
      act(socket, seen);
    });
  });
