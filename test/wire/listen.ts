/** A server of plain sockets that gives each request the same answer, and keeps the bytes of each request. */
import { createServer } from "node:net";
import { version } from "../../package.json" with { type: "json" };
import { listenOnLoopback } from "../support/server.ts";

export interface Listener {
  readonly url: string;
  /**
   * The requests so far, head and body as they were sent, with `PORT`, `NODE`, `PLATFORM`, `VERSION` and `KEY` in place
   * of values that the interface does not specify.
   */
  readonly heard: readonly string[];
}

/** Listens until the test is finished, and answers every request with a JSON body. */
export const listen = async (body: string): Promise<Listener> => {
  const heard: string[] = [];
  const server = createServer((socket) => {
    let bytes = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = endOfRequest(bytes);
      if (end === undefined || bytes.length < end) return;
      heard.push(named(bytes.toString("utf8", 0, end), port));
      bytes = bytes.subarray(end);
      const head = ["HTTP/1.1 200 OK", "Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`];
      socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    });
  });
  const { port, url } = await listenOnLoopback(server);
  return { url, heard };
};

const endOfRequest = (bytes: Buffer): number | undefined => {
  const head = bytes.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const length = /^content-length: (\d+)$/im.exec(bytes.toString("latin1", 0, head).replaceAll("\r", ""))?.[1] ?? "0";
  return head + 4 + Number(length);
};

const named = (whole: string, port: number): string => {
  const [head = "", body] = whole.split("\r\n\r\n");
  return request(head.split("\r\n"), body)
    .replaceAll(`:${port}`, ":PORT")
    .replace(/^idempotency-key: [0-9a-f]{64}\r$/m, "idempotency-key: KEY\r")
    .replace(`rollcall/${version}`, "rollcall/VERSION")
    .replace(`node/${process.versions.node} ${process.platform}`, "node/NODE PLATFORM");
};

/** A request as text: lines of the head, then the body. Order and case of names don't matter (RFC 9110, 5). */
export const request = ([line = "", ...headers]: readonly string[], body = ""): string => {
  const sorted = headers.map((header) => header.replace(/^[^:]*/, (name) => name.toLowerCase())).toSorted();
  return `${[line, ...sorted].join("\r\n")}\r\n\r\n${body}`;
};
