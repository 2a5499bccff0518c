/** A service on loopback that does to each request what a script says, and records what it received. */
import { createServer } from "node:net";

/**
 * A deed says what the service does to one request:
 * - `read`: how much it reads first: "nothing", "head", "some" of the body, or all of the "body" (the default)
 * - `status`, `headers`, `body`: its answer. Without a status it does not answer
 * - `raw`: an answer that is written as it is, instead of these
 * - `end`: how the connection ends without or after an answer: "close" (the default), "reset", "silence", or
 *   "keep", which reads the next request from it
 * - `echo`: the answer repeats the idempotency key
 */
export const accept = { status: 200, body: '{"metrics":{"train/reward":0.5},"call_ids":["call-1","call-2"]}' };

/** Returns a deed that reads all and answers. */
export const answer = (status, body = "", headers = []) => ({ status, body, headers });

/** Bytes of a body that a deed reads that reads "some" of it. */
const someBytes = 100_000;

/** Starts a service on a free port of loopback. */
export const openService = async () => {
  const sockets = new Set();
  let script = { queue: [], otherwise: accept, replies: {} };
  let received = [];
  let connections = 0;
  let onReceived = () => undefined;

  const serve = async (socket) => {
    const input = readerOf(socket);
    connections++;
    for (;;) {
      const isUnread = script.queue[0]?.read === "nothing" || script.otherwise.read === "nothing";
      const request = requestOf(isUnread ? "" : await input.head());
      const reply = script.replies[request.line.split(" ")[1]?.split("?")[0]];
      const deed = reply ?? script.queue.shift() ?? script.otherwise;
      const { read = "body", end = "close", raw, status } = deed;
      if (read === "some") await input.body(Math.min(someBytes, request.length));
      if (read === "body") request.body = Buffer.from(await input.body(request.length));
      if (read === "body") input.next(request.length);
      received.push({ ...request, ...(read === "body" ? {} : { body: `(${read} was read)` }) });
      onReceived();
      await deed.until?.();
      const text = raw ?? (status === undefined ? "" : answerOf(deed, request, end));
      if (end === "keep") socket.write(text);
      else if (end === "silence") return void (text !== "" && socket.write(text));
      else if (end === "reset") {
        // The other side reads what was written before the reset discards it.
        if (text !== "") await new Promise((resolve) => socket.write(text, () => setTimeout(resolve, 50)));
        return void socket.resetAndDestroy();
      } else {
        if (text === "") return void socket.destroy();
        socket.end(text);
        return void socket.resume();
      }
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    serve(socket);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** Sets what is done to the next requests, and to all after them. `replies` are deeds by path. */
    script({ next = [], otherwise = accept, replies = {} }) {
      script = { queue: [...next], otherwise, replies };
    },
    /** Takes the requests that were received since the last call. */
    take() {
      const taken = received;
      received = [];
      return taken;
    },
    /** Waits until there are `count` requests that were not taken. */
    async received(count) {
      while (received.length < count) {
        await new Promise((resolve) => {
          onReceived = resolve;
        });
      }
    },
    reset() {
      for (const socket of sockets) socket.destroy();
      received = [];
      connections = 0;
      this.script({});
    },
    connections: () => connections,
    async close() {
      this.reset();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const requestOf = (head) => {
  const [line, ...lines] = head.trimEnd().split("\r\n");
  const headers = Object.fromEntries(
    lines.map((text) => [text.slice(0, text.indexOf(":")).toLowerCase(), text.slice(text.indexOf(":") + 1).trim()]),
  );
  return { line, headers, length: Number(headers["content-length"] ?? 0), body: "" };
};

const answerOf = ({ status, headers = [], body = "", echo = false }, request, end) => {
  const key = request.headers["idempotency-key"];
  const lines = [
    `HTTP/1.1 ${status} Said`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Content-Type: application/json",
    ...(end === "keep" ? [] : ["Connection: close"]),
    ...(echo && key !== undefined ? [`Idempotency-Key: ${key}`] : []),
    ...headers,
  ];
  return [...lines, "", body].join("\r\n");
};

/** Reads a socket only as far as it is asked to, so that a sender can meet a service that stops reading. */
const readerOf = (socket) => {
  let bytes = Buffer.alloc(0);
  let chunks = [];
  let size = 0;
  let more = () => undefined;
  socket.pause().on("data", (chunk) => {
    chunks.push(chunk);
    size += chunk.length;
    more();
  });
  socket.pause();
  const whole = () => {
    if (chunks.length > 0) bytes = Buffer.concat([bytes, ...chunks]);
    chunks = [];
    return bytes;
  };
  /** Reads until `found` gives something. Never ends if the other side leaves before. */
  const until = async (found) => {
    for (;;) {
      const value = found();
      if (value !== undefined) {
        socket.pause();
        return value;
      }
      await new Promise((resolve) => {
        more = resolve;
        socket.resume();
      });
    }
  };
  let start = 0;
  return {
    async head() {
      start = await until(() => {
        const end = whole().indexOf("\r\n\r\n");
        return end < 0 ? undefined : end + 4;
      });
      return whole().toString("latin1", 0, start);
    },
    body: async (length) =>
      await until(() => (size >= start + length ? whole().subarray(start, start + length) : undefined)),
    /** Forgets a request that was read. */
    next(length) {
      bytes = whole().subarray(start + length);
      size = bytes.length;
      start = 0;
    },
  };
};

/** Gives a port of loopback on which nothing listens. */
export const closedPort = async () => {
  const service = await openService();
  await service.close();
  return service.port;
};
