/** One request and its answer, over Node's own HTTP client. */
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import type { Socket } from "node:net";
import { type Collected, openCollected } from "./body.ts";
import type { StreamedBody } from "./client.ts";
import type { Connections } from "./connect.ts";
import type { Route } from "./proxy.ts";
import { Trouble, troubleOf } from "./trouble.ts";

interface Outgoing extends Head {
  readonly body: Uint8Array | StreamedBody | undefined;
}

/** What a request begins with, as the server behind all proxies gets it. */
interface Head {
  readonly method: string;
  readonly route: Route;
  readonly path: string;
  /** Names and values in turn, but for `Host`, `Connection` and what a proxy is told. */
  readonly headers: readonly string[];
}

/** Opens a request over connections, or over one. A proxy that forwards it is told the whole address, and who asks. */
export const openRequest = (
  over: Pick<RequestOptions, "agent" | "createConnection">,
  { method, route, path, headers }: Head,
  signal: AbortSignal,
): ClientRequest => {
  const { to, proxy } = route;
  const forwarding = to.secure ? undefined : proxy;
  const authorization = forwarding?.authorization;
  const own = authorization === undefined ? headers : [...headers, "Proxy-Authorization", authorization];
  const address = {
    method,
    host: to.hostname,
    port: to.port,
    path: forwarding === undefined ? path : to.origin + path,
  };
  // `way` is for the agent, which is given all of the request's options.
  const way = { way: { route, signal } };
  return request({ ...over, ...address, headers: ["Host", to.authority, ...own], ...way });
};

interface Bounds {
  /** Longest silence in either direction, once a connection stands. */
  readonly silenceMs: number;
  /** Longest time for it as a whole, once a connection stands; where the body is given in pieces, from the last that left. */
  readonly wholeMs: number;
  /** Largest body that is read, before it is decoded. */
  readonly bodyBytes: number;
  readonly signal: AbortSignal;
}

/** How an exchange ended. */
export interface Exchanged {
  /** The final status; undefined where none was read. */
  readonly status: number | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came, encoded. */
  readonly body: Uint8Array;
  /** What kept the answer from being whole. */
  readonly trouble: Trouble | undefined;
  readonly bodySent: boolean;
  /** Whether it went over a connection that had carried another before. */
  readonly reused: boolean;
}

/** Sends a request and reads its answer. What the network does is a value. @throws what a body given in pieces throws */
export const exchange = (connections: Connections, outgoing: Outgoing, bounds: Bounds): Promise<Exchanged> =>
  new Promise((resolve, reject) => {
    const { body } = outgoing;
    const sent = openRequest({ agent: connections }, outgoing, bounds.signal);
    const answer = new Answer(bounds.bodyBytes);
    const sending = isStreamed(body) ? new Sending(sent, body) : undefined;
    let trouble: Trouble | undefined;
    let guard: Guard | undefined;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      guard?.end();
      const exchanged = answer.read(trouble);
      // What was not read or sent to its end can't be used again.
      if (exchanged.trouble !== undefined || !sent.writableFinished) sent.destroy();
      resolve({ ...exchanged, bodySent: sending?.isDone ?? true, reused: sent.reusedSocket });
    };
    const stop = (why: Trouble) => {
      trouble ??= why;
      sent.destroy();
      end();
    };
    sent.on("error", (thrown) => {
      trouble ??= troubleOf(thrown);
    });
    sent.once("close", () => {
      if (!answer.hasBegun) end();
    });
    sent.once("response", (reply) => {
      answer.begin(reply);
      reply.on("data", (chunk: Uint8Array) => answer.add(chunk) || stop(new Trouble("TOO_LONG")));
      reply.once("end", end).once("error", end).once("close", end);
    });
    sent.once("socket", (socket) => {
      socket.on("data", answer.look);
      sent.once("close", () => socket.off("data", answer.look));
      guard = guardOf(socket, bounds, { stop, isWaited: () => sending !== undefined && !sending.isDone });
      sending?.run(guard.again).then(
        (isWhole) => isWhole || stop(new Trouble("CUT")),
        (thrown) => {
          if (isOver) return;
          isOver = true;
          guard?.end();
          sent.destroy();
          reject(thrown);
        },
      );
    });
    if (sending === undefined) sent.end(body);
  });

const isStreamed = (body: Outgoing["body"]): body is StreamedBody =>
  body !== undefined && !(body instanceof Uint8Array);

/** Largest head of an answer, in bytes: Node's own bound. */
const longestHead = 16_384;

class Answer {
  readonly #bodyBytes: number;
  #body: Collected;
  #reply: IncomingMessage | undefined;
  #head = "";

  constructor(bodyBytes: number) {
    this.#bodyBytes = bodyBytes;
    this.#body = openCollected(bodyBytes);
  }

  get hasBegun(): boolean {
    return this.#reply !== undefined;
  }

  /** Looks at what comes: Node tells a status with its last header, and a final status that was read decides (promises.md, the table of outcomes). */
  readonly look = (chunk: Buffer): void => {
    if (!this.hasBegun && this.#head.length < longestHead) this.#head += chunk.toString("latin1", 0, longestHead);
  };

  begin(reply: IncomingMessage): void {
    this.#reply = reply;
    const length = Number(reply.headers["content-length"]);
    if (length > 0) this.#body = openCollected(this.#bodyBytes, length);
  }

  /** False where there is more of it than there may be. */
  add(chunk: Uint8Array): boolean {
    this.#body.add(chunk);
    return !this.#body.isTooLong;
  }

  /** What came, and what was wrong with it. */
  read(trouble: Trouble | undefined): Omit<Exchanged, "bodySent" | "reused"> {
    const body = this.#body.read();
    const reply = this.#reply;
    if (reply === undefined) {
      return { status: this.#statusAlone(), headers: {}, body, trouble: trouble ?? new Trouble("CUT") };
    }
    // What began as HTTP and goes on as something else was broken off, or mixed up, on its way; after the end it is nobody's.
    const isOdd = trouble?.code === "NOT_HTTP";
    const isWhole = reply.complete && (trouble === undefined || isOdd);
    const why = trouble === undefined || isOdd ? new Trouble("CUT", { cause: trouble }) : trouble;
    return { status: reply.statusCode, headers: flat(reply.headers), body, trouble: isWhole ? undefined : why };
  }

  #statusAlone(): number | undefined {
    const [, status] = /^HTTP\/1\.[01] ([2-9]\d\d)(?: [^\r\n]*)?\r?\n/m.exec(this.#head) ?? [];
    return status === undefined ? undefined : Number(status);
  }
}

/** Headers with one value each. */
export const flat = (headers: IncomingMessage["headers"]): Record<string, string> => {
  const one: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) one[name] = typeof value === "string" ? value : value.join(", ");
  }
  return one;
};

/** The longest time that a timer of Node can have. */
export const longestTimerMs = 2 ** 31 - 1;

interface Guard {
  /** Begins the time for the whole anew. */
  again(): void;
  end(): void;
}

/** Stops an exchange that is silent or endless, or whose run is told to stop. */
export const guardOf = (
  socket: Socket,
  { silenceMs, wholeMs, signal }: Omit<Bounds, "bodyBytes">,
  { stop, isWaited = () => false }: { readonly stop: (why: Trouble) => void; readonly isWaited?: () => boolean },
): Guard => {
  let isOver = false;
  const allowedMs = Math.min(silenceMs, longestTimerMs);
  // What came while the process itself was asleep or busy is read first: it is no silence.
  const silent = () => {
    const { bytesRead, writableLength } = socket;
    setImmediate(() => {
      if (isOver) return;
      if (socket.bytesRead === bytesRead && socket.writableLength === writableLength) stop(new Trouble("SILENT"));
      else socket.setTimeout(allowedMs);
    });
  };
  const abort = () => stop(new Trouble("ABORTED", { cause: signal.reason }));
  const readBefore = socket.bytesRead;
  let whole: NodeJS.Timeout | undefined;
  const again = (): void => {
    clearTimeout(whole);
    // A piece that leaves after the end begins nothing anew: the run would never end.
    if (isOver) return;
    // While a body is still on its way and nothing comes, only silence ends it.
    const isEndless = () => !isWaited() || socket.bytesRead > readBefore;
    const over = () => (isEndless() ? stop(new Trouble("ENDLESS")) : again());
    whole = setTimeout(over, Math.min(wholeMs, longestTimerMs));
  };
  again();
  // Node's own measure: bytes that leave the process or come into it, also within one long write.
  socket.setTimeout(allowedMs).on("timeout", silent);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return {
    again,
    end: () => {
      isOver = true;
      clearTimeout(whole);
      socket.setTimeout(0).off("timeout", silent);
      signal.removeEventListener("abort", abort);
    },
  };
};

/** A body given in pieces on its way. The next is asked for when the last one has left the process. */
class Sending {
  readonly #sent: ClientRequest;
  readonly #body: StreamedBody;
  #handedOver = 0;

  constructor(sent: ClientRequest, body: StreamedBody) {
    this.#sent = sent;
    this.#body = body;
  }

  get isDone(): boolean {
    return this.#handedOver === this.#body.length;
  }

  /**
   * Sends it; false where the pieces are not as long as was said. The last byte goes alone, when every other has left the
   * process: no server can accept a request without it, so that "handed over" is true from the moment at which it could
   * have been accepted, and not before. `onLeft` is told each piece.
   */
  async run(onLeft: () => void): Promise<boolean> {
    const { length, chunks } = this.#body;
    let given = 0;
    for await (const chunk of chunks()) {
      given += chunk.length;
      if (given > length) return false;
      const isLast = given === length;
      for (const piece of isLast ? [chunk.subarray(0, -1), chunk.subarray(-1)] : [chunk]) {
        await arrivalsRead();
        if (this.#sent.destroyed || this.#sent.socket?.destroyed === true) return true;
        if (piece.length > 0 && (await this.#write(piece))) this.#handedOver += piece.length;
        onLeft();
      }
      if (isLast) break;
    }
    this.#sent.end();
    return given === length;
  }

  /** Whether a piece left the process. */
  #write(piece: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      this.#sent.write(piece, (error) => resolve(error === undefined || error === null));
    });
  }
}

/**
 * Resolves when what has arrived was read. A service that has its answer ready (413 after 4 of 100 MB) may close its side
 * while the body is still being sent, and Node drops an answer that nobody has read with the socket whose write failed.
 */
const arrivalsRead = (): Promise<void> =>
  // The first may still come before the system is asked for what has arrived.
  new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
