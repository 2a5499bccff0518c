/** Opens connections with undici, directly or through a proxy. */
import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import buildConnector from "undici/lib/core/connect.js";
import Agent from "undici/lib/dispatcher/agent.js";
import { withTieringBudget } from "../../system/v8-limits.ts";
import { isForwardedByProxy, type Route } from "./route.ts";
import { connectTimeoutMs, TransportError, toTransportError } from "./transport-error.ts";

/** Node's default, 250 ms, is too short for slow networks. */
const addressTimeoutMs = 500;

/** Larger than any run needs. */
const parserBudget = 1_000_000_000;

/** Most servers keep idle connections for a longer time. */
const maxIdleMs = 1000;

export type Connection = Pick<Agent, "dispatch"> & Readonly<Record<"release" | "destroy", () => void>>;

export class Connections {
  readonly #closing = new AbortController();
  readonly #released = new Map<string, Agent[]>();
  readonly #socketOptions = {
    timeout: connectTimeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    // Each piece of a body waits until the previous piece has left the process.
    highWaterMark: 1,
    signal: this.#closing.signal,
  };
  readonly #connectSocket = buildConnector(this.#socketOptions);

  constructor() {
    // Each socket adds a listener to the signal.
    setMaxListeners(0, this.#closing.signal);
  }

  async open(route: Route, canReuse: boolean): Promise<Connection> {
    const { origin } = route.to;
    const agents = this.#released.get(origin) ?? [];
    this.#released.set(origin, agents);
    const agent: Agent = (canReuse ? agents.pop() : undefined) ?? (await this.#openAgent(route));
    return {
      dispatch: agent.dispatch.bind(agent),
      release: () => void agents.push(agent),
      destroy: () => void agent.destroy(),
    };
  }

  async #openAgent(route: Route) {
    const connect: Connector = (to, callback) => {
      // Node connects a new socket despite an aborted signal.
      if (this.#closing.signal.aborted) return callback(new TransportError("ABORTED"), null);
      // On Node 20, the optimization of undici's parser would delay the exit by 95 ms.
      this.#connectSocket(to, (...connected) => withTieringBudget(parserBudget, () => callback(...connected)));
    };
    const options = { keepAliveTimeout: maxIdleMs, keepAliveMaxTimeout: maxIdleMs, connect };
    if (!route.proxy || isForwardedByProxy(route)) return new Agent(options);
    return await openTunnels(route.proxy, { ...options, requestTls: this.#socketOptions });
  }

  close() {
    this.#closing.abort();
    for (const agent of [...this.#released.values()].flat()) void agent.destroy();
  }
}

type Connector = ReturnType<typeof buildConnector>;

/** undici's own code would retry a refused tunnel forever. */
const openTunnels = async (
  { url, authorization: token }: NonNullable<Route["proxy"]>,
  { connect, ...options }: { connect: Connector; requestTls: object },
) => {
  const { default: Pool } = await import("undici/lib/dispatcher/pool.js");
  const { default: ProxyAgent } = await import("undici/lib/dispatcher/proxy-agent.js");
  return new ProxyAgent({
    ...options,
    uri: url.origin,
    ...(token && { token }),
    clientFactory: (origin) => {
      const pool = new Pool(origin, { connect });
      const connectTunnel = ({ path, headers }: { path: string; headers: Record<string, string> }) =>
        new Promise<{ statusCode: number; socket: Duplex }>((resolve, reject) => {
          pool.dispatch(
            { method: "CONNECT", path, headers, headersTimeout: connectTimeoutMs },
            {
              onRequestStart: () => undefined,
              onRequestUpgrade: (_, statusCode, __, socket) => {
                if (statusCode === 200) return resolve({ statusCode, socket });
                socket.on("error", () => undefined).destroy();
                reject(new TransportError("PROXY_REFUSED", { status: statusCode }));
              },
              onResponseError(_, error) {
                const { code, status, cause } = toTransportError(error);
                reject(new TransportError(code, { status, cause, isOfProxy: true }));
              },
            },
          );
        });
      return Object.assign(pool, { connect: connectTunnel });
    },
  });
};
