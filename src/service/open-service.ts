/** Opens and closes the local service. */
import { constants } from "node:buffer";
import { Failure, type Problem, toFailure } from "../failure.ts";
import { checkDatabaseMode } from "../system/files.ts";
import { isLoopback } from "../text/locations.ts";
import { loadLocalKey } from "./access.ts";
import { createApp } from "./app.ts";
import { listen } from "./http-server/server.ts";
import { logOperation } from "./log-operation.ts";
import { callOperation, catalogOperations, modelsOperation } from "./read-operations.ts";
import type { ServiceOptions } from "./service-options.ts";
import { isStoreFailure, openStore, type Store, storePath } from "./store/store.ts";

const checkAddress = ({ address, allowHosts, warn }: ServiceOptions) => {
  if (isLoopback(address)) return;
  if (allowHosts.length === 0) {
    const message = `--host ${address} requires --allow-host, because other machines can reach this address`;
    const hint = "pass --allow-host <name> for each host name that clients use";
    throw new Failure("usage", "allow-host-missing", message, { hint });
  }
  warn({
    rule: "exposed-address",
    severity: "warning",
    message: `other machines can reach ${address}, and clients send the key to it in plain text`,
    advice: "use this address only in a network that you trust, or put a proxy with TLS in front of the service",
  });
};

const describeError = (thrown: unknown): Problem => {
  const { code: rule, message } = toFailure(thrown);
  const status = isStoreFailure(thrown) ? 503 : 500;
  return { rule, severity: "warning", message: `cannot answer a request (${status}): ${message}` };
};

export type Service = Awaited<ReturnType<typeof openService>>;

/** @throws Failure `usage`, `storage` */
export const openService = async (options: ServiceOptions) => {
  const { host, dataDir, maxBodyBytes, warn } = options;
  checkAddress(options);
  const { key, path: keyFile } =
    options.key === undefined ? await loadLocalKey(dataDir, options) : { key: options.key, path: undefined };
  checkDatabaseMode(storePath(options), warn);
  // After the first signal, requests in flight still need the store, so only the second signal ends its waits.
  const store = await openStore(options, { ...host, signal: host.urgent });
  let lastError: unknown;
  let closing: Promise<boolean> | undefined;
  const app = createApp({
    ...options,
    operations: listOperations(options, store),
    key,
    maxBodyBytes: Math.min(maxBodyBytes, constants.MAX_STRING_LENGTH),
    isStopping: () => closing !== undefined,
    onError: (thrown) => {
      lastError = thrown;
      warn(describeError(thrown));
    },
  });
  const listener = { ...options, app, elapsed: host.elapsed };
  const server = await listen({ ...listener, serverName: "the local service" }).catch(async (thrown) => {
    await store.close();
    throw thrown;
  });
  const close = async () => {
    closing ??= server.close().finally(store.close);
    return await closing;
  };
  const { url } = server;
  return { url, store: store.id, key, keyFile, lastError: () => lastError, close };
};

const listOperations = ({ host, project, dataDir }: ServiceOptions, store: Store) => [
  logOperation(store, project, host.now),
  modelsOperation(store),
  callOperation(store),
  ...catalogOperations(dataDir),
];
