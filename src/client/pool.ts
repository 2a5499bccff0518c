/** Keeps connections that another request can use. */
import { type Connection, openConnection } from "./connection.ts";
import type { Route } from "./route.ts";

/** The connections of one client. */
export interface Pool {
  /** One that idles, or a new one. @throws Trouble */
  take(route: Route, signal: AbortSignal): Promise<Connection>;
  /** One of its own, that nobody else will use. @throws Trouble */
  own(route: Route, signal: AbortSignal): Promise<Connection>;
  /** Keeps it for another request, where it is still good for one. */
  keep(route: Route, connection: Connection): void;
  end(connection: Connection): void;
  close(): void;
}

/** Opens an empty pool. */
export const openPool = (nodeVersion: string): Pool => {
  const idle = new Map<string, Connection[]>();
  const all = new Set<Connection>();
  const open = async (route: Route, lasting: boolean, signal: AbortSignal): Promise<Connection> => {
    const connection = await openConnection({ route, lasting, signal, nodeVersion });
    all.add(connection);
    connection.socket.once("close", () => all.delete(connection));
    return connection;
  };
  return {
    async take(route, signal) {
      const waiting = idle.get(route.to.origin) ?? [];
      for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
        if (!one.socket.destroyed) return one;
      }
      return await open(route, true, signal);
    },
    own: async (route, signal) => await open(route, false, signal),
    keep: ({ to: { origin } }, connection) => {
      const waiting = idle.get(origin) ?? [];
      waiting.push(connection);
      idle.set(origin, waiting);
    },
    end: ({ socket }) => {
      socket.destroy();
    },
    close: () => {
      for (const { socket } of all) socket.destroy();
    },
  };
};
