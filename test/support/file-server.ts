/** A file server on loopback. */
import { createServer } from "node:http";
import { listenOnLoopback } from "./server.ts";

interface FileServerOptions {
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  readonly type: string;
}

/** Listens on a free loopback port until the test is finished. */
export const fileServer = async ({ files, type }: FileServerOptions) => {
  const server = createServer(({ url = "" }, response) => {
    const content = files[decodeURIComponent(url.replace(/\?.*$/, ""))];
    if (content === undefined) return void response.writeHead(404).end();
    return void response.writeHead(200, { "content-type": type }).end(content);
  });
  const { url } = await listenOnLoopback(server);
  return { url };
};
