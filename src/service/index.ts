/** The local service: the whole interface of the service, stored on disk. */
import { constants } from "node:buffer";
import { Failure, type Problem } from "../failure.ts";
import { type Host, isLoopback } from "../host.ts";
import { localKey } from "./access.ts";
import { appOf, openNames } from "./app.ts";
import { callOperation } from "./call.ts";
import { openDoor } from "./keys.ts";
import { catalogOperations, modelsOperation } from "./lists.ts";
import { logOperation } from "./log.ts";
import type { Operation } from "./operation.ts";
import { listen } from "./server.ts";
import { isOfStore, openStore, type Store, type StorePlace } from "./store/store.ts";
import { type Ended, openWatch } from "./watch.ts";

export { isAuthorised, whyForeign } from "./access.ts";
export type { Bindings } from "./app.ts";
export { newKey } from "./keys.ts";
export { type Listening, listen } from "./server.ts";
export {
  examineStore,
  openStore,
  type RequestOfProject,
  type Store,
  type StoredKey,
  type StorePlace,
  storeIdentity,
  storePath,
} from "./store/store.ts";
export type { Ended } from "./watch.ts";

/** How the local service is opened. */
export interface ServiceOptions extends StorePlace {
  readonly host: Host;
  /** Address to listen on, and the port; 0 is any free one. */
  readonly address: string;
  readonly port: number;
  /** `team/project` that calls are recorded in. */
  readonly project: string;
  /** Key that overrides the one kept in the data folder. */
  readonly key: string | undefined;
  /** Names beside loopback that requests may be addressed to. */
  readonly allowHosts: readonly string[];
  /** Largest body that is accepted, in bytes. */
  readonly maxBodyBytes: number;
  readonly warn: (problem: Problem) => void;
  /** Where a line about every exchange goes. */
  readonly trace: ((line: string) => void) | undefined;
  /** Told of every exchange that ended. */
  readonly onEnd?: ((ended: Ended) => void) | undefined;
}

/** The running service. */
export interface Service {
  /** Tells the store behind it from any other. */
  readonly store: string;
  readonly url: string;
  readonly key: string;
  /** Where the key is kept; undefined where it was given. */
  readonly keyFile: string | undefined;
  /** The requests that were logged to a project, newest first: the interface lists none. @throws Failure `storage` */
  requests: Store["requests"];
  /** What last kept the service from answering: a failure of its store, or a defect. */
  readonly trouble: unknown;
  /** Answers what is in flight, refuses what comes new, then closes. False where a request had to be broken off. */
  close(): Promise<boolean>;
}

/** Opens the store and listens. @throws Failure `storage`, `usage` */
export const openService = async (options: ServiceOptions): Promise<Service> => {
  const { host, dataDir, address, port, allowHosts, maxBodyBytes, warn, trace } = options;
  if (!isLoopback(address)) warnOfAddress(address, { allowHosts, warn });
  const kept = options.key === undefined ? await localKey(dataDir, { host, warn }) : undefined;
  const key = kept?.key ?? options.key ?? "";
  // What is in the way of a request is told with it. What is in flight when the service is stopped is still stored.
  const store = await openStore(options, { host: { ...host, signal: host.urgent }, onAway: () => undefined });
  const operations = operationsOf(options, store);
  const watch = openWatch(options.onEnd, openNames(operations));
  let trouble: unknown;
  const onTrouble = (thrown: unknown): void => {
    trouble = thrown;
    warn(troubleOf(thrown));
  };
  let closed: Promise<boolean> | undefined;
  try {
    const app = appOf({
      operations,
      door: openDoor({ own: key, keys: store.keys, elapsed: host.elapsed }),
      allowHosts,
      health: {
        watch,
        key,
        check: store.check,
        isDraining: () => closed !== undefined,
        sleep: host.sleep,
      },
      maxBodyBytes: Math.min(maxBodyBytes, constants.MAX_STRING_LENGTH),
      onTrouble,
    });
    const server = await listen({
      app,
      server: "the local service",
      address,
      port,
      trace,
      watch,
      elapsed: host.elapsed,
    });
    return {
      url: server.url,
      store: store.id,
      key,
      keyFile: kept?.path,
      requests: store.requests,
      get trouble() {
        return trouble;
      },
      close: () => {
        closed ??= server.close().finally(() => store.close());
        return closed;
      },
    };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
};

/** The five operations (interface 4). */
const operationsOf = ({ host, project, dataDir }: ServiceOptions, store: Store): readonly Operation[] => [
  logOperation({ store, project, now: host.now }),
  modelsOperation(store),
  callOperation(store),
  ...catalogOperations(dataDir),
];

/** A request that could not be answered, for whoever runs the service. */
const troubleOf = (thrown: unknown): Problem => {
  const store = isOfStore(thrown);
  const why = thrown instanceof Failure ? thrown.reason : String(thrown);
  const { file } = thrown instanceof Failure ? (thrown.about.where ?? {}) : {};
  return {
    rule: store ? thrown.reason : "defect",
    severity: "warning",
    ...(file === undefined ? {} : { file }),
    message: `a request could not be answered (${store ? "503" : "500"}): ${why}`,
  };
};

/** @throws Failure `host-unnamed` */
const warnOfAddress = (address: string, { allowHosts, warn }: Pick<ServiceOptions, "allowHosts" | "warn">): void => {
  if (allowHosts.length === 0) throw new Failure("host-unnamed", { address });
  warn(openAddress(address));
};

/** What is said of an address that other machines can reach. */
export const openAddress = (address: string): Problem => ({
  rule: "open-address",
  severity: "warning",
  message: `other machines can reach ${address}, and the key travels to it in plain text`,
  advice: "use it in a network that you trust, or put a proxy with TLS before it",
});
