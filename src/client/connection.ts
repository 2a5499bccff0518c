/** One connection to the service: a socket, and undici's client that speaks HTTP over it. */
import type { Socket } from "node:net";
import { arch } from "node:os";
import { setFlagsFromString } from "node:v8";
import type Undici from "undici/lib/dispatcher/client.js";
import type { Route } from "./route.ts";
import { openSocket } from "./socket.ts";
import { Trouble } from "./trouble.ts";

/** An open connection. It carries one request at a time. */
export interface Connection {
  readonly socket: Socket;
  readonly http: Undici;
  /** The status of the last status line that came since `restart`, before undici has all of its headers. */
  status(): number | undefined;
  restart(): void;
  /** Whether bytes that were to be sent never left this process. */
  lost(): boolean;
}

/** How long a connection may idle and still be used: other sides close theirs after a few seconds, and a request on its way then is lost. */
const idleMs = 1000;

/** Opens a connection. `lasting` ones are kept for another request. @throws Trouble */
export const openConnection = async (about: {
  readonly route: Route;
  readonly lasting: boolean;
  readonly signal: AbortSignal;
  /** Version of Node, without the `v`. */
  readonly nodeVersion: string;
}): Promise<Connection> => {
  // The handshake is under way while undici loads.
  const [opened, loaded] = await Promise.allSettled([
    openSocket(about.route, about.signal),
    loadUndici(about.nodeVersion),
  ]);
  if (opened.status === "rejected") throw opened.reason;
  if (loaded.status === "rejected") throw loaded.reason;
  const socket = opened.value;
  const tap = tapStatus(socket);
  const lost = lingerForAnswers(socket);
  let used = false;
  const http = new loaded.value(about.route.to.origin, {
    connect: (_, callback) => {
      // A client of one socket: when that is gone, the next request opens another connection, with a bound of its own.
      const first = !used;
      used = true;
      // Not at once: undici is not done with asking.
      queueMicrotask(() => (first ? callback(null, socket) : callback(new Trouble("CUT"), null)));
    },
    pipelining: about.lasting ? 1 : 0,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    maxHeaderSize: longestHead,
    // Silence is measured on the socket, in both directions (exchange.ts).
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { socket, http, lost, ...tap };
};

const loadUndici = async (nodeVersion: string) => {
  const { default: undici } = await import("undici/lib/dispatcher/client.js");
  // Not before: what V8 keeps compiled, of Node's own modules too, is good only for the flags that it was compiled with.
  haveBaselineWasm(nodeVersion);
  return undici;
};

/** Processors whose baseline compiler for WebAssembly knows every instruction. */
const baselineArchitectures = new Set(["x64", "arm64"]);

/** The first Node whose V8 compiles the way into WebAssembly no better than it needs to, by itself. */
const quickNode = 24;

/**
 * undici's parser is WebAssembly, and V8 spent up to 60 ms on optimising the way into it, more than a whole run takes.
 * Its baseline compiler is enough for a parser of headers.
 */
const haveBaselineWasm = (nodeVersion: string): void => {
  if (Number.parseInt(nodeVersion, 10) >= quickNode || !baselineArchitectures.has(arch())) return;
  setFlagsFromString("--liftoff-only");
};

/** Largest head of an answer, in bytes: Node's own bound. */
const longestHead = 16_384;

/**
 * Reads the status line beside undici, which tells a status only with its last header: a final status that
 * was read decides (promises.md, the table of outcomes).
 */
const tapStatus = (socket: Socket): Pick<Connection, "status" | "restart"> => {
  let head = "";
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (head.length < longestHead && Buffer.isBuffer(chunk)) head += chunk.toString("latin1", 0, longestHead);
    return chunk;
  };
  return {
    status: () => {
      const lines = [...head.matchAll(/^HTTP\/1\.[01] ([2-9]\d\d)(?: [^\r\n]*)?\r?\n/gm)];
      const status = lines[0]?.[1];
      return status === undefined ? undefined : Number(status);
    },
    restart: () => {
      head = "";
    },
  };
};

/** How long after a failed write an answer that is on its way is waited for. */
const lingerMs = 1000;

type WriteEnd = (error?: Error | null) => void;

/**
 * A service that has its answer ready (413 after 4 of 100 MB) may close its side while the body is still being sent.
 * Node destroys a socket whose write failed, and with it the answer that has arrived. Here a failed write stays
 * open for a moment: what came is read, and how reading ends is how the connection ends.
 */
const lingerForAnswers = (socket: Socket): Connection["lost"] => {
  let lost = false;
  const lingering = (end: WriteEnd): WriteEnd => {
    return (error) => {
      if (error === undefined || error === null || socket.destroyed) return end(error);
      lost = true;
      const timer = setTimeout(() => socket.destroy(error), lingerMs);
      socket.once("close", () => {
        clearTimeout(timer);
        end(error);
      });
    };
  };
  const write = socket._write.bind(socket);
  const writeMany = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, end) => write(chunk, encoding, lingering(end));
  if (writeMany !== undefined) socket._writev = (chunks, end) => writeMany(chunks, lingering(end));
  return () => lost;
};
