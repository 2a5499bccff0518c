/** The local service: the complete interface, stored on disk. */
import { constants } from "node:buffer";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { listAnalysisModels, listRouterModels } from "../contract/catalog.ts";
import { listModels } from "../contract/models.ts";
import { readListReply } from "../contract/replies.ts";
import { type Problem, toFailure } from "../failure.ts";
import { checkDatabaseMode } from "../files.ts";
import { type Host, isLoopback } from "../host.ts";
import { loadLocalKey, openAuthenticator } from "./access.ts";
import { createApp, type EndedExchange } from "./app.ts";
import { callOperation } from "./call.ts";
import { allowHostMissing } from "./failures.ts";
import { logOperation } from "./log.ts";
import { defineOperation, detailError, type Operation, openAiError, Refusal } from "./operation.ts";
import { listen } from "./server.ts";
import { isStoreFailure, openStore, type Store, type StoreLocation, storePath } from "./store/store.ts";

export { createKey, foreignRequestReason, isAuthorized } from "./access.ts";
export type { EndedExchange } from "./app.ts";
export { type Bindings, listen } from "./server.ts";
export {
  examineStore,
  openStore,
  type Store,
  type StoredKey,
  storeIdentity,
  storePath,
} from "./store/store.ts";

export interface ServiceOptions extends StoreLocation {
  readonly host: Host;
  readonly address: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** `team/project` of calls that were logged with a key without a project. */
  readonly project: string;
  /** Overrides the key in the data folder. */
  readonly key: string | undefined;
  /** Host names that clients use, in addition to loopback. */
  readonly allowHosts: readonly string[];
  readonly maxBodyBytes: number;
  readonly warn: (problem: Problem) => void;
  readonly trace: ((line: string) => void) | undefined;
  readonly onEnd?: ((ended: EndedExchange) => void) | undefined;
}

export type Service = Awaited<ReturnType<typeof openService>>;

/** Opens the store and listens. @throws Failure `storage`, `usage` */
export const openService = async (options: ServiceOptions) => {
  const { host, dataDir, address, port, project, allowHosts, warn, trace } = options;
  if (!isLoopback(address)) {
    if (allowHosts.length === 0) throw allowHostMissing(address);
    warn(exposedAddressProblem(address));
  }
  const ownKey = options.key === undefined ? await loadLocalKey(dataDir, { host, warn }) : undefined;
  const key = ownKey?.key ?? options.key ?? "";
  checkDatabaseMode(storePath(options), warn);
  // After a stop, requests in flight are still stored, unless it is urgent. Answers report an unavailable store.
  const store = await openStore(options, { host: { ...host, signal: host.urgent }, onUnavailable: () => undefined });
  let lastError: unknown;
  let closed: Promise<boolean> | undefined;
  const app = createApp({
    operations: [
      logOperation(store, project, host.now),
      modelsOperation(store),
      callOperation(store),
      ...catalogOperations(dataDir),
    ],
    authenticate: openAuthenticator(key, store.keys),
    host,
    allowHosts,
    check: store.check,
    onEnd: options.onEnd,
    maxBodyBytes: Math.min(options.maxBodyBytes, constants.MAX_STRING_LENGTH),
    isStopping: () => closed !== undefined,
    onError: (thrown) => {
      lastError = thrown;
      warn(unansweredProblem(thrown));
    },
  });
  const listening = listen({ app, serverName: "the local service", address, port, trace, elapsed: host.elapsed });
  const server = await listening.catch(async (thrown: unknown) => {
    await store.close();
    throw thrown;
  });
  return {
    url: server.url,
    store: store.id,
    key,
    keyFile: ownKey?.path,
    requests: store.projectRequests,
    get lastError(): unknown {
      return lastError;
    },
    /** Answers the requests in flight, then closes. Resolves with false if requests were aborted after 10 s. */
    close: (): Promise<boolean> => {
      closed ??= server.close().finally(() => store.close());
      return closed;
    },
  };
};

const unansweredProblem = (thrown: unknown): Problem => {
  const { code: rule, message, details } = toFailure(thrown);
  const file = details.where?.file;
  const text = `cannot answer a request (${isStoreFailure(thrown) ? 503 : 500}): ${message}`;
  return { rule, severity: "warning", ...(file !== undefined && { file }), message: text };
};

export const exposedAddressProblem = (address: string): Problem => ({
  rule: "exposed-address",
  severity: "warning",
  message: `other machines can reach ${address}, and the key is sent to it in plain text`,
  advice: "use it only in a network that you trust, or put a proxy with TLS in front",
});

/** Lists the models that were logged to (interface 4.2). The project header has no effect: it is for usage tracking. */
const modelsOperation = (store: Store): Operation =>
  defineOperation(listModels, openAiError, async ({ caller }) => {
    const models = await store.listModels(caller.projects);
    const data = models.map(({ id, owner, created }) => ({ id, object: "model", created, owned_by: owner, root: id }));
    return JSON.stringify({ object: "list", data });
  });

/** Lists the models of two catalogs (interface 4.4 and 4.5). */
const catalogOperations = (dataDir: string): readonly Operation[] => [
  defineOperation(listAnalysisModels, detailError, async ({ parameters }) =>
    readCatalog(dataDir, "analysis", parameters.analysis_provider),
  ),
  defineOperation(listRouterModels, detailError, async ({ parameters }) =>
    readCatalog(dataDir, "router", parameters.router_provider),
  ),
];

type CatalogKind = "analysis" | "router";

/** Reads the provider's file, or the sample if no file exists. @throws Refusal 404, 500 */
const readCatalog = async (dataDir: string, kind: CatalogKind, provider: string): Promise<string | Uint8Array> => {
  const folder = join(dataDir, "catalog", kind);
  const files = await readdir(folder).catch(() => []);
  const names = files.flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : [])).sort();
  if (names.length === 0) return await readSample(kind);
  if (!names.includes(provider)) {
    const known = names.map((name) => JSON.stringify(name)).join(", ");
    throw new Refusal(404, `unknown provider ${JSON.stringify(provider)}, expected ${known}`);
  }
  const bytes = await readFile(join(folder, `${provider}.json`)).catch(() => undefined);
  if (bytes !== undefined && "value" in (readListReply(bytes) ?? {})) return bytes;
  throw new Refusal(500, `the file of this provider in catalog/${kind} is not a catalog, expected {"data":[…]}`);
};

/** Facts are from github.com/anomalyco/models.dev, MIT, Copyright (c) 2025 models.dev (test/samples/README.md). */
const readSample = async (kind: CatalogKind): Promise<string> => {
  const { default: entries } = await import("./sample-catalog.json");
  const note = `a sample that comes with rollcall. Put your own catalog at catalog/${kind}/<provider>.json in the data folder`;
  return JSON.stringify({ note, data: entries[kind] });
};
