/** Opens a client. */
import { attempt } from "./attempt.ts";
import type { Client, ClientOptions } from "./client.ts";
import { openPatience } from "./patience.ts";
import { openPauses } from "./pause.ts";
import { openPool } from "./pool.ts";
import { openCredentials } from "./request.ts";
import type { Room } from "./room.ts";
import { send } from "./send.ts";

/** Opens a client. Nothing is connected, and no credential asked for, before a request needs it. */
export const openClient = (options: ClientOptions): Client => {
  const pool = openPool(options.host.nodeVersion);
  const room: Room = {
    options,
    pool,
    pauses: openPauses(options.host),
    credentials: openCredentials(options),
    announced: new Set(),
  };
  return {
    send: async (endpoint, request) => await send(room, endpoint, request),
    attempt: async (endpoint, request) => await attempt(room, endpoint, request),
    patience: () => openPatience({ host: options.host, maxWaitMs: options.maxWaitMs }),
    close: async () => pool.close(),
  };
};
