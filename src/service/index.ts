/** The local service: the whole interface of the service, stored on disk. */
import { constants } from "node:buffer";
import { Failure, type Problem } from "../failure.ts";
import { type Host, isLoopback } from "../host.ts";
import { loadLocalKey, openAuthenticator } from "./access.ts";
import { createApp } from "./app.ts";
import { callOperation } from "./call.ts";
import { allowHostMissing } from "./failures.ts";
import { logOperation } from "./log.ts";
import { catalogOperations, modelsOperation } from "./model-lists.ts";
import { listen } from "./server.ts";
import { isStoreFailure, openStore, type StoreLocation } from "./store/store.ts";
import { type EndedExchange, openTelemetry } from "./telemetry.ts";

export { createKey, foreignRequestReason, isAuthorized } from "./access.ts";
export type { Bindings } from "./app.ts";
export { listen } from "./server.ts";
export {
  examineStore,
  openStore,
  type RequestOfProject,
  type Store,
  type StoredKey,
  type StoreLocation,
  storeIdentity,
  storePath,
} from "./store/store.ts";
export type { EndedExchange } from "./telemetry.ts";

export interface ServiceOptions extends StoreLocation {
  readonly host: Host;
  /** Address to listen on, and the port; 0 is any free one. */
  readonly address: string;
  readonly port: number;
  /** `team/project` that calls are recorded in. */
  readonly project: string;
  /** Key that overrides the one in the data folder. */
  readonly key: string | undefined;
  /** Names in addition to loopback that requests may be addressed to. */
  readonly allowHosts: readonly string[];
  /** Largest body that is accepted, in bytes. */
  readonly maxBodyBytes: number;
  readonly warn: (problem: Problem) => void;
  /** Called with a line about each exchange. */
  readonly trace: ((line: string) => void) | undefined;
  /** Called with each exchange that ended. */
  readonly onEnd?: ((ended: EndedExchange) => void) | undefined;
}

export type Service = Awaited<ReturnType<typeof openService>>;

/** Opens the store and listens. @throws Failure `storage`, `usage` */
export const openService = async (options: ServiceOptions) => {
  const { host, dataDir, address, port, project, allowHosts, maxBodyBytes, warn, trace } = options;
  if (!isLoopback(address)) {
    if (allowHosts.length === 0) throw allowHostMissing(address);
    warn(openAddressProblem(address));
  }
  const ownKey = options.key === undefined ? await loadLocalKey(dataDir, { host, warn }) : undefined;
  const key = ownKey?.key ?? options.key ?? "";
  const { elapsed, sleep } = host;
  // What is in flight when the service is stopped is still stored. A failure of the store is said in the answer.
  const store = await openStore(options, { host: { ...host, signal: host.urgent }, onAway: () => undefined });
  const watch = openTelemetry(options.onEnd);
  let lastError: unknown;
  let closed: Promise<boolean> | undefined;
  const app = createApp({
    operations: [
      logOperation({ store, project, now: host.now }),
      modelsOperation(store),
      callOperation(store),
      ...catalogOperations(dataDir),
    ],
    authenticate: openAuthenticator(key, store.keys, elapsed),
    ...{ key, allowHosts, telemetry: watch, sleep, check: store.check },
    maxBodyBytes: Math.min(maxBodyBytes, constants.MAX_STRING_LENGTH),
    isStopping: () => closed !== undefined,
    onError: (thrown) => {
      lastError = thrown;
      warn(unansweredProblem(thrown));
    },
  });
  const listening = listen({ app, server: "the local service", address, port, trace, watch, elapsed });
  const server = await listening.catch(async (thrown: unknown) => {
    await store.close();
    throw thrown;
  });
  return {
    url: server.url,
    /** Identifies its store. */
    store: store.id,
    key,
    /** The file of the key; undefined if the key was given. */
    keyFile: ownKey?.path,
    /** The requests that were logged to a project, newest first: the interface lists none. @throws Failure `storage` */
    requests: store.projectRequests,
    /** The last reason why a request could not be answered: a failure of the store, or a defect. */
    get trouble(): unknown {
      return lastError;
    },
    /** Answers what is in flight, refuses new requests, then closes. False if a request was broken off. */
    close: (): Promise<boolean> => {
      closed ??= server.close().finally(() => store.close());
      return closed;
    },
  };
};

const unansweredProblem = (thrown: unknown): Problem => {
  const store = isStoreFailure(thrown);
  const why = thrown instanceof Failure ? thrown.kind : String(thrown);
  const { file } = thrown instanceof Failure ? (thrown.details.where ?? {}) : {};
  return {
    rule: store ? thrown.kind : "defect",
    severity: "warning",
    ...(file === undefined ? {} : { file }),
    message: `a request could not be answered (${store ? "503" : "500"}): ${why}`,
  };
};

export const openAddressProblem = (address: string): Problem => ({
  rule: "exposed-address",
  severity: "warning",
  message: `other machines can reach ${address}, and the key travels to it in plain text`,
  advice: "use it in a network that you trust, or put a proxy with TLS before it",
});
