/** Sends one endpoint's request to the service and reads its reply. */
import type { AuthScheme, Credential } from "../contract/endpoint.ts";
import { attempt } from "./attempt.ts";
import type { Client, ClientOptions } from "./client.ts";
import type { Connections } from "./connections.ts";
import { headersOf, openCredentials, targetOf } from "./request.ts";
import { openPatience, type Session, send } from "./retry.ts";
import { shownHeaders } from "./trace.ts";

export type {
  Attempt,
  Broken,
  Client,
  ClientOptions,
  Held,
  Patience,
  Reply,
  StreamedBody,
} from "./client.ts";
export type { DownloadOptions, Downloads, Got } from "./download.ts";
export type { Probed } from "./probe.ts";

/** The door of looking at addresses: no request of the interface needs it. */
export const probeDoor = () => import("./probe.ts");

/** The door of getting files: no request of the interface needs it either. */
export const downloadDoor = () => import("./download.ts");

/** Stands where the credential will, which nobody was asked for. */
const unasked: Readonly<Record<AuthScheme, Credential | undefined>> = {
  bearer: { scheme: "bearer", token: "-", from: "" },
  basic: { scheme: "basic", username: "", password: "", from: "" },
  none: undefined,
};

/** Opens a client. Nothing is connected, and no credential asked for, before a request needs it. */
export const openClient = (options: ClientOptions): Client => {
  const { host } = options;
  let opened: Promise<Connections> | undefined;
  const session: Session = {
    options,
    connections: () => {
      opened ??= import("./connections.ts").then(({ openConnections }) => openConnections(host));
      return opened;
    },
    pausedUntil: new Map(),
    credentials: openCredentials(options),
    announced: new Set(),
  };
  return {
    send: async (endpoint, request) => await send(session, endpoint, request),
    attempt: async (endpoint, request) => await attempt(session, endpoint, request),
    target: (endpoint, { parameters, headers: own }) => {
      const target = targetOf(options, endpoint, parameters);
      const headers = shownHeaders(headersOf(options, target, unasked[endpoint.auth], own), options.project?.header);
      return { method: endpoint.method, url: target.url, headers };
    },
    patience: () => openPatience(options),
    close: async () => await (await opened)?.close(),
  };
};
