/** The local service: the whole interface of the service, stored on disk. */
import type { Host } from "../host.ts";
import { appOf } from "./app.ts";
import { callOperation } from "./call.ts";
import { catalogOperations } from "./catalog.ts";
import { keptKey } from "./key.ts";
import { logOperation } from "./log.ts";
import { modelsOperation } from "./models.ts";
import { listen } from "./server.ts";
import { openStore } from "./store.ts";

/** How the local service is opened. */
export interface ServiceOptions {
  readonly host: Host;
  /** Address to listen on, and the port; 0 is any free one. */
  readonly address: string;
  readonly port: number;
  readonly dataDir: string;
  /** `team/project` that calls are recorded in. */
  readonly project: string;
  /** Key that overrides the one kept in the data folder. */
  readonly key: string | undefined;
  /** Names beside loopback that requests may be addressed to. */
  readonly allowHosts: readonly string[];
  /** Largest body that is accepted, in bytes. */
  readonly maxBodyBytes: number;
}

/** The running service. */
export interface Service {
  readonly url: string;
  readonly key: string;
  /** Answers what is in flight, then closes. */
  close(): Promise<void>;
}

/** Opens the store and listens. @throws Failure `storage`, `usage` */
export const openService = async (options: ServiceOptions): Promise<Service> => {
  const { host, dataDir, project, address, port, maxBodyBytes } = options;
  const key = options.key ?? (await keptKey(dataDir));
  const store = openStore(dataDir);
  try {
    const operations = [
      logOperation({ store, project, now: host.now }),
      modelsOperation(store),
      callOperation(store),
      ...catalogOperations(dataDir),
    ];
    const server = await listen({ app: appOf({ operations, key, maxBodyBytes }), address, port });
    return {
      url: server.url,
      key,
      close: async () => {
        await server.close();
        store.close();
      },
    };
  } catch (thrown) {
    store.close();
    throw thrown;
  }
};
