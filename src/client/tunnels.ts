/** Opens tunnels through a proxy. */
import type { Duplex } from "node:stream";
import type Agent from "undici/lib/dispatcher/agent.js";
import Pool from "undici/lib/dispatcher/pool.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";
import type { Connector } from "./connections.ts";
import { connectTimeoutMs, type ProxyServer } from "./route.ts";
import { TransportError, toTransportError } from "./transport-error.ts";

/** Opens tunnels. One that is refused or dropped is an error: undici would ask for it again without end. */
export const openTunnels = (
  { address, authorization }: ProxyServer,
  { connect, ...limits }: { readonly connect: Connector; readonly requestTls: object },
): Agent =>
  new ProxyAgent({
    ...limits,
    uri: address.origin,
    ...(authorization === undefined ? {} : { token: authorization }),
    clientFactory: (origin) => {
      const pool = new Pool(origin, { connect });
      const connectTunnel = (request: { readonly path: string; readonly headers: Record<string, string> }) =>
        new Promise<{ readonly statusCode: number; readonly socket: Duplex }>((resolve, reject) => {
          const { path, headers } = request;
          pool.dispatch(
            { method: "CONNECT", path, headers, headersTimeout: connectTimeoutMs },
            {
              onRequestStart: () => undefined,
              onRequestUpgrade: (_, status, __, socket) => {
                if (status === 200) return resolve({ statusCode: status, socket });
                socket.on("error", () => undefined).destroy();
                reject(new TransportError("PROXY_REFUSED", { status }));
              },
              onResponseError: (_, error) => reject(toTransportError(error)),
            },
          );
        });
      return Object.assign(pool, { connect: connectTunnel });
    },
  });
