/** Listens for HTTP requests, with limits on headers and time, and checks their host, origin and credential. */
import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { Failure } from "../failure.ts";
import { getErrorCode } from "../system/files.ts";
import { isLoopback } from "../system/host.ts";
import { describeSystemCode } from "../text/sentences.ts";

export type Bindings = { Bindings: HttpBindings };

export interface ListenOptions {
  readonly serverName: "the local service" | "`rollcall view`";
  readonly address: string;
  readonly port: number;
  readonly app: { fetch: Parameters<typeof getRequestListener>[0] };
  readonly maxHeaderBytes?: number;
  readonly trace: ((line: string) => void) | undefined;
  readonly elapsed: () => number;
}

const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  // Most clients close idle connections earlier, and so never use a closed connection.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};
const maxCloseMs = 10_000;

/** @throws Failure `cannot-listen` */
export const listen = async (options: ListenOptions) => {
  const { trace, elapsed, maxHeaderBytes = limits.maxHeaderSize } = options;
  const answer = getRequestListener(options.app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => Response.json({ detail: "Bad Request" }, { status: 400 }),
  });
  const open = new Set<ServerResponse>();
  let isClosing = false;
  const handle: RequestListener = (incoming, outgoing) => {
    const start = elapsed();
    open.add(outgoing);
    if (isClosing) closeAfterResponse(outgoing);
    outgoing.on("close", () => {
      open.delete(outgoing);
      trace?.(`${incoming.method} ${incoming.url} ${outgoing.statusCode} ${Math.round(elapsed() - start)} ms`);
    });
    void answer(incoming, outgoing);
  };
  const server = createServer({ ...limits, maxHeaderSize: maxHeaderBytes }, handle);
  server.on("checkContinue", handle);
  const close = async () => {
    isClosing = true;
    return await closeServer(server, open);
  };
  return { url: await startListening(server, options), close };
};

/** Waits for requests in flight. After `maxCloseMs`, aborts them and returns false. */
const closeServer = async (server: Server, open: ReadonlySet<ServerResponse>) => {
  for (const response of open) closeAfterResponse(response);
  let isComplete = true;
  const timer = setTimeout(() => {
    isComplete = false;
    server.closeAllConnections();
  }, maxCloseMs);
  // New requests still get an answer, and this loop waits for them, too.
  for (const response of open) await once(response, "close");
  clearTimeout(timer);
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
  return isComplete;
};

/** Returns the URL of the server. @throws Failure `cannot-listen` */
const startListening = async (server: Server, options: ListenOptions) => {
  const { serverName, address, port } = options;
  server.listen(port, address);
  await once(server, "listening").catch((cause: unknown) => {
    const reason = describeSystemCode(getErrorCode(cause));
    const message = `${serverName} cannot listen on ${address}, port ${port}: ${reason}`;
    const orAddress = serverName === "the local service" ? ", or another address with --host" : "";
    const hint = `choose another port with --port (0 picks a free one)${orAddress}`;
    throw new Failure("usage", "cannot-listen", message, { hint, cause });
  });
  server.on("error", () => undefined);
  const bound = server.address();
  const boundPort = typeof bound === "object" ? bound?.port : port;
  return `http://${address.includes(":") ? `[${address}]` : address}:${boundPort}`;
};

const closeAfterResponse = (outgoing: ServerResponse) => {
  if (!outgoing.headersSent) outgoing.setHeader("Connection", "close");
};

/** @param allowHosts default: no option allows a host */
export const foreignRequestReason = (headers: IncomingHttpHeaders, allowHosts?: readonly string[]) => {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  const name = hostName(host);
  // A web page's host name can resolve to this machine (DNS rebinding).
  if (!isLoopback(name) && !allowHosts?.some((allowed) => allowed.toLowerCase() === name)) {
    const fix = allowHosts ? "allow it with --allow-host" : "open the URL that rollcall view printed";
    return `unknown host ${JSON.stringify(host)} (${fix})`;
  }
  const ownOrigins = [undefined, `http://${host}`.toLowerCase(), `https://${host}`.toLowerCase()];
  const isOwnSite = site === undefined || site === "same-origin" || site === "none";
  return isOwnSite && ownOrigins.includes(origin?.toLowerCase()) ? undefined : "requests from other sites are refused";
};

const hostName = (host: string) => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
};

/** Compares digests, because `timingSafeEqual` requires equal lengths. */
export const isAuthorized = (header: string | undefined, key: string, scheme: "bearer" | "basic" = "bearer") => {
  const given = parseCredential(header, scheme);
  return given !== undefined && timingSafeEqual(digest(given), digest(key));
};

const parseCredential = (header: string | undefined, scheme: "bearer" | "basic") => {
  const [, name = "", value = ""] = /^([a-z]+) +(.*)$/i.exec(header ?? "") ?? [];
  if (name.toLowerCase() !== scheme) return undefined;
  if (scheme === "bearer") return value;
  // Assumed: the password is the key.
  const credential = Buffer.from(value, "base64").toString("utf8");
  return credential.slice(credential.indexOf(":") + 1);
};

const digest = (key: string) => createHash("sha256").update(key).digest();
