/** A service of plain sockets that handles each request as a test says, and stores the logged groups. */
import { createServer, type Server, type Socket } from "node:net";
import { listenOnLoopback } from "./server.ts";

/** A request that is being received. */
export interface ReceivedRequest {
  readonly socket: Socket;
  /** Waits for the request line and all headers. */
  head(): Promise<string>;
  /** Waits for a number of bytes of the body, and reads no more. */
  some(bytes: number): Promise<void>;
  /** Waits for the whole body. */
  body(): Promise<Buffer>;
  /** Logs the whole body, once per key if the service honors keys. */
  take(): Promise<void>;
  /** Writes an answer, with the key if the service echoes keys. */
  answer(status: number, about?: { readonly headers?: readonly string[]; readonly body?: string }): void;
  /** Ends the connection by a reset. */
  reset(): void;
}

export type RequestHandler = (asked: ReceivedRequest) => void | Promise<void>;

/** A service that runs until its test is finished. */
export interface FaultyService {
  readonly url: string;
  readonly port: number;
  /** The rewards of the logged groups, in the order of arrival. */
  readonly logged: readonly number[];
  /** Keys of the requests, in the order of arrival. */
  readonly keys: readonly (string | undefined)[];
  readonly bodies: readonly Buffer[];
  /** Returns the number of requests, and of connections without a request. */
  readonly requests: () => number;
  /** Sets the handlers of the next requests. `otherwise` handles all later requests. */
  next(...deeds: readonly RequestHandler[]): void;
  /** Sets the handler of all further requests. */
  mend(otherwise?: RequestHandler): void;
}

/** Logs the request and accepts it. */
export const accept: RequestHandler = async (asked) => {
  await asked.take();
  asked.answer(200, { body: '{"metrics":{},"call_ids":[]}' });
};

/** Reads all, logs nothing, and answers. */
export const refuse =
  (
    status: number,
    ...about: Parameters<ReceivedRequest["answer"]> extends [number, ...infer Rest] ? Rest : never
  ): RequestHandler =>
  async (asked) => {
    await asked.body();
    asked.answer(status, ...about);
  };

/** Holds a request after `read` until `letGo` is called, and then logs the request. */
export const holdRequest = (
  read: (asked: ReceivedRequest) => Promise<unknown> = (asked) => asked.body(),
): { readonly deed: RequestHandler; readonly came: Promise<void>; letGo(): void } => {
  let tell: () => void = () => undefined;
  let letGo: () => void = () => undefined;
  const came = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return {
    deed: async (asked) => {
      await read(asked);
      tell();
      await free;
      await accept(asked);
    },
    came,
    letGo: () => letGo(),
  };
};

/** The part of a test's context that servers need. */
export interface TestCleanup {
  onTestFinished(done: () => Promise<void>): void;
}

/** Listens on a free loopback port until the test is finished. */
export const faultyService = async (
  { onTestFinished }: TestCleanup,
  {
    echoes = false,
    otherwise = accept,
    server = createServer(),
  }: { readonly echoes?: boolean; readonly otherwise?: RequestHandler; readonly server?: Server } = {},
): Promise<FaultyService> => {
  const queue: RequestHandler[] = [];
  const kept = { logged: [] as number[], keys: [] as (string | undefined)[], bodies: [] as Buffer[], taken: new Set() };
  let count = 0;
  let always = otherwise;
  server.on(server.listenerCount("connection") > 0 ? "secureConnection" : "connection", (socket: Socket) => {
    count++;
    void (queue.shift() ?? always)(askedOf(socket, { ...kept, echoes }));
  });
  const { port, url } = await listenOnLoopback(server, onTestFinished);
  return {
    url,
    port,
    ...kept,
    requests: () => count,
    next: (...deeds) => void queue.push(...deeds),
    mend: (other = accept) => {
      always = other;
    },
  };
};

interface ServiceRecord {
  readonly logged: number[];
  readonly keys: (string | undefined)[];
  readonly bodies: Buffer[];
  readonly taken: Set<unknown>;
  readonly echoes: boolean;
}

const askedOf = (socket: Socket, kept: ServiceRecord): ReceivedRequest => {
  let chunks: Buffer[] = [];
  let size = 0;
  let key: string | undefined;
  let more: () => void = () => undefined;
  socket.pause().on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    more();
  });
  socket.pause();
  /** Reads until bytes arrive; never ends if the client disconnects first. */
  const until = async <Found>(found: () => Found | undefined): Promise<Found> => {
    for (;;) {
      const value = found();
      if (value !== undefined) {
        socket.pause();
        return value;
      }
      await new Promise<void>((resolve) => {
        more = resolve;
        socket.resume();
      });
    }
  };
  const whole = (): Buffer => {
    chunks = [Buffer.concat(chunks)];
    return chunks[0] ?? Buffer.alloc(0);
  };
  let start = 0;
  const bodyStart = (): number | undefined => {
    if (start < 4) start = whole().indexOf("\r\n\r\n") + 4;
    return start > 3 ? start : undefined;
  };
  const asked: ReceivedRequest = {
    socket,
    async head() {
      const end = await until(bodyStart);
      const head = whole().toString("latin1", 0, end);
      key = /^idempotency-key: (.*)\r$/im.exec(head)?.[1];
      return head;
    },
    async some(wanted) {
      await asked.head();
      await until(() => (size - start >= wanted ? true : undefined));
    },
    async body() {
      const head = await asked.head();
      const length = Number(/^content-length: (\d+)\r$/im.exec(head)?.[1]);
      const body = await until(() => (size - start >= length ? whole().subarray(head.length) : undefined));
      kept.keys.push(key);
      kept.bodies.push(body);
      return body;
    },
    async take() {
      const body = await asked.body();
      if (kept.echoes && key !== undefined && kept.taken.has(key)) return;
      if (key !== undefined) kept.taken.add(key);
      kept.logged.push(...rewardsIn(body));
    },
    answer(status, { headers = [], body = "" } = {}) {
      const echo = kept.echoes && key !== undefined ? [`Idempotency-Key: ${key}`] : [];
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      // Otherwise the client may send its next request while this connection ends.
      const lines = [`HTTP/1.1 ${status} Said`, length, "Connection: close", ...headers, ...echo];
      socket.end([...lines, "", body].join("\r\n"));
      socket.resume();
    },
    reset: () => void socket.resetAndDestroy(),
  };
  return asked;
};

/** The reward of each group of a body, by its first trajectory. */
const rewardsIn = (body: Buffer): readonly number[] => {
  const { trajectory_groups } = JSON.parse(body.toString()) as {
    trajectory_groups: readonly { trajectories: readonly { reward: number }[] }[];
  };
  return trajectory_groups.map(({ trajectories }) => trajectories[0]?.reward ?? Number.NaN);
};
