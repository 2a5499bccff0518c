/** A file server on loopback that answers range requests, and can fail as real servers do. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening } from "./server.ts";

/** A received request. */
export interface AskedFor {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** Options of the server. */
export interface FileServerOptions {
  /** Contents by path. A function is called for every request, so that files can change. */
  readonly files: Readonly<Record<string, string | Uint8Array>> | (() => Readonly<Record<string, string | Uint8Array>>);
  /** True if the server answers range requests. Default: true. */
  readonly ranges?: boolean;
  /** True if answers have an ETag. Default: true. */
  readonly tags?: boolean;
  /** Returns the bytes after which the connection of an answer (from 0) breaks; undefined if it does not. */
  readonly cut?: (answer: number) => number | undefined;
  /** Answers a request itself, and returns true; or returns false. */
  readonly instead?: (asked: AskedFor, response: ServerResponse) => boolean;
  /** The Content-Type of all files. */
  readonly type?: string;
}

/** Listens on a free loopback port until the test is finished. */
export const fileServer = async (options: FileServerOptions) => {
  const asked: AskedFor[] = [];
  const server = createServer((incoming, response) => {
    const one = { path: incoming.url ?? "", headers: incoming.headers };
    asked.push(one);
    if (options.instead?.(one, response) === true) return;
    give(one, response, { ...options, cutAfter: options.cut?.(asked.length - 1) });
  });
  const { url } = await listening(server);
  return { url, asked };
};

const give = (
  { path, headers }: AskedFor,
  response: ServerResponse,
  {
    files,
    ranges = true,
    tags = true,
    cutAfter,
    type = "application/octet-stream",
  }: FileServerOptions & {
    readonly cutAfter: number | undefined;
  },
): void => {
  const there = typeof files === "function" ? files() : files;
  const content = there[decodeURIComponent(path.replace(/\?.*$/, ""))];
  if (content === undefined) return void response.writeHead(404).end();
  const bytes = Buffer.from(content);
  const etag = `"${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}"`;
  const wanted = headers["if-match"];
  if (wanted !== undefined && wanted !== etag) return void response.writeHead(412).end();
  const [, from, to] = (ranges && /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "")) || [];
  const start = Number(from ?? 0);
  if (from !== undefined && start >= bytes.length) {
    return void response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
  }
  const part = bytes.subarray(start, to === undefined || to === "" ? bytes.length : Number(to) + 1);
  response.writeHead(from === undefined ? 200 : 206, {
    "content-length": part.length,
    "content-type": type,
    ...(tags ? { etag } : {}),
    ...(from === undefined ? {} : { "content-range": `bytes ${start}-${start + part.length - 1}/${bytes.length}` }),
  });
  if (cutAfter === undefined || cutAfter >= part.length) return void response.end(part);
  response.write(part.subarray(0, cutAfter), () => setTimeout(() => response.destroy(), 20));
};
