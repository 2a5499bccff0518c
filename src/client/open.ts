/** Opens a client. */
import { attempt } from "./attempt.ts";
import type { Client, ClientOptions } from "./client.ts";
import { Connections } from "./connect.ts";
import { headersOf, openCredentials, targetOf } from "./request.ts";
import { openPatience, openPauses, type Session, send } from "./retry.ts";
import { shownHeaders } from "./trace.ts";

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
    target: (endpoint, parameters) => {
      const target = targetOf(options, endpoint, parameters);
      const headers = shownHeaders(headersOf(options, target, undefined), options.project?.header);
      return { method: endpoint.method, url: target.url, headers };
    },
    patience: () => openPatience({ host, maxWaitMs }),
    close: async () => session.connections.destroy(),
  };
};
