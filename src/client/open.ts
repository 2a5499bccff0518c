/** Opens a client. */
import { attempt } from "./attempt.ts";
import type { Client, ClientOptions } from "./client.ts";
import { Connections } from "./connect.ts";
import { openCredentials } from "./request.ts";
import { openPatience, openPauses, type Session, send } from "./retry.ts";

/** Opens a client. Nothing is connected, and no credential asked for, before a request needs it. */
export const openClient = (options: ClientOptions): Client => {
  const { host, maxWaitMs } = options;
  const session: Session = {
    options,
    connections: new Connections(),
    pauses: openPauses(host),
    credentials: openCredentials(options),
    announced: new Set(),
  };
  return {
    send: async (endpoint, request) => await send(session, endpoint, request),
    attempt: async (endpoint, request) => await attempt(session, endpoint, request),
    patience: () => openPatience({ host, maxWaitMs }),
    close: async () => session.connections.destroy(),
  };
};
