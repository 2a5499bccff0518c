/** A file server on loopback that can fail like real servers. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenOnLoopback } from "./server.ts";

export interface FileRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

export interface FileServerOptions {
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Returns the bytes after which the connection of an answer (from 0) breaks; undefined for no break. */
  readonly cut?: (answer: number) => number | undefined;
  /** Returns true if it answers a request instead of the server. */
  readonly instead?: (asked: FileRequest, response: ServerResponse) => boolean;
  readonly type?: string;
}

/** Listens on a free loopback port until the test is finished. */
export const fileServer = async (options: FileServerOptions) => {
  const asked: FileRequest[] = [];
  const server = createServer((incoming, response) => {
    const one = { path: incoming.url ?? "", headers: incoming.headers };
    asked.push(one);
    if (options.instead?.(one, response) === true) return;
    const { files, type = "application/octet-stream" } = options;
    const content = files[decodeURIComponent(one.path.replace(/\?.*$/, ""))];
    if (content === undefined) return void response.writeHead(404).end();
    const bytes = Buffer.from(content);
    response.writeHead(200, { "content-length": bytes.length, "content-type": type });
    const cutAfter = options.cut?.(asked.length - 1) ?? bytes.length;
    if (cutAfter >= bytes.length) return void response.end(bytes);
    response.write(bytes.subarray(0, cutAfter), () => setTimeout(() => response.destroy(), 20));
  });
  const { url } = await listenOnLoopback(server);
  return { url, asked };
};
