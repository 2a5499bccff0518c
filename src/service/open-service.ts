/** Opens the local service, and answers its HTTP requests. */
import { constants } from "node:buffer";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { databaseLocked } from "../database/failures.ts";
import { toFileFailure, waitForLock } from "../database/own-file.ts";
import { Failure, type Problem, toFailure } from "../failure.ts";
import { checkDatabaseMode, checkFileMode, requireSafeOwnership, writeFileAtomically } from "../system/files.ts";
import { type Host, isLoopback } from "../system/host.ts";
import { formatCommandLine } from "../text/shell-words.ts";
import type { Endpoint } from "../wire/contract/endpoint.ts";
import { type Bindings, foreignRequestReason, isAuthorized, listen } from "./http-server.ts";
import { logOperation } from "./log-operation.ts";
import { detailError, HttpRefusal, type Operation } from "./operation.ts";
import { BodyReader } from "./read-body.ts";
import { callOperation, catalogOperations, modelsOperation } from "./read-operations.ts";
import { isStoreFailure, openStore, type StoreLocation, storePath } from "./store/store.ts";

export type ServiceOptions = StoreLocation &
  Readonly<{
    host: Host;
    address: string;
    port: number;
    /** The project of logged calls, as `team/project`. */
    project: string;
    key: string | undefined;
    allowHosts: readonly string[];
    maxBodyBytes: number;
    warn: (problem: Problem) => void;
    trace: ((line: string) => void) | undefined;
  }>;

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

export interface Service {
  readonly url: string;
  /** The id of the store. */
  readonly store: string;
  readonly key: string;
  /** Undefined if `ServiceOptions` has the key. */
  readonly keyFile: string | undefined;
  readonly lastError: () => unknown;
  /** Returns false if the service aborted requests. */
  readonly close: () => Promise<boolean>;
}

/** @throws Failure `usage`, `storage` */
export const openService = async (options: ServiceOptions): Promise<Service> => {
  const { host, dataDir, project, maxBodyBytes, warn } = options;
  checkAddress(options);
  const { key, path: keyFile } =
    options.key === undefined ? await loadLocalKey(dataDir, options) : { key: options.key, path: undefined };
  checkDatabaseMode(storePath(options), warn);
  // After the first signal, requests in flight still need the store, so only the second signal ends its waits.
  const store = await openStore(options, { ...host, signal: host.urgent });
  let lastError: unknown;
  let closing: Promise<boolean> | undefined;
  const log = logOperation(store, project, host.now);
  const app = createApp({
    ...options,
    operations: [log, modelsOperation(store), callOperation(store), ...catalogOperations(dataDir)],
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

type AppOptions = Pick<ServiceOptions, "allowHosts" | "maxBodyBytes"> &
  Readonly<{
    operations: readonly Operation[];
    key: string;
    isStopping: () => boolean;
    onError: (thrown: unknown) => void;
  }>;

const createApp = (options: AppOptions) => {
  const { operations, onError } = options;
  const bodies = new BodyReader();
  const app = new Hono<Bindings>();
  for (const operation of operations) {
    const { method, path: template } = operation.endpoint;
    const path = template.replaceAll(/\{([a-z_]+)\}/g, ":$1");
    app.on(method, path, async (context) => {
      const answering = answerOperation(operation, context, options, bodies);
      return await answering.catch((thrown: unknown) => refuse(toRefusal(thrown, onError), operation.errorFormat));
    });
    app.all(path, ({ env }) => {
      requireAllowed(env, options);
      throw new HttpRefusal(405, "Method Not Allowed", { Allow: method === "GET" ? "GET, HEAD" : method });
    });
  }
  app.notFound(({ env }) => {
    requireAllowed(env, options);
    throw new HttpRefusal(404, "Not Found");
  });
  app.onError((error) => refuse(toRefusal(error, onError)));
  return app;
};

/** @throws HttpRefusal 403, 503 */
const requireAllowed = ({ incoming }: HttpBindings, { isStopping, allowHosts }: AppOptions) => {
  if (isStopping()) throw new HttpRefusal(503, "the service is stopping", { "Retry-After": "1" });
  const reason = foreignRequestReason(incoming.headers, allowHosts);
  if (reason !== undefined) throw new HttpRefusal(403, reason);
};

const answerOperation = async (
  { endpoint, answer, maxBodyBytes = Number.POSITIVE_INFINITY }: Operation,
  { req, env }: Context<Bindings>,
  options: AppOptions,
  bodies: BodyReader,
) => {
  requireAllowed(env, options);
  requireCredential(req.header("authorization"), endpoint, options.key);
  const idempotencyKey = endpoint.repeatable ? undefined : req.header("idempotency-key");
  // This header tells the client that resending is safe.
  if (idempotencyKey !== undefined) env.outgoing.setHeader("Idempotency-Key", idempotencyKey);
  const request = { parameters: req.param(), idempotencyKey };
  if (endpoint.method === "GET") return respond(200, await answer({ ...request, body: undefined }));
  const limit = Math.min(maxBodyBytes, options.maxBodyBytes);
  return await bodies.read(env, limit, async (body) => respond(200, await answer({ ...request, body })));
};

/** A 503 with `Retry-After` tells the client that nothing was stored. */
const toRefusal = (thrown: unknown, onError: AppOptions["onError"]) => {
  if (thrown instanceof HttpRefusal) return thrown;
  onError(thrown);
  return isStoreFailure(thrown)
    ? new HttpRefusal(503, "the store is unavailable, and nothing was stored", { "Retry-After": "5" })
    : new HttpRefusal(500, thrown instanceof Failure ? thrown.message : "Internal Server Error");
};

const refuse = (refusal: HttpRefusal, format = detailError) =>
  respond(refusal.status, JSON.stringify(format(refusal)), refusal.headers);

const respond = (status: number, body: string | Uint8Array, headers: HttpRefusal["headers"] = {}) =>
  new Response(body, { status, headers: { "Content-Type": "application/json", ...headers } });

const keyFile = { noun: "key of the local service", moveWith: "--data-dir of `rollcall serve` or ROLLCALL_DATA_DIR" };
const maxLockWaitMs = 10_000;

const loadLocalKey = async (dataDir: string, { host, warn }: ServiceOptions) => {
  const path = join(dataDir, "local.key");
  requireSafeOwnership(path);
  try {
    const key = readKey(path) ?? (await createLocalKey(path, host));
    const looseMode = checkFileMode(path, "600");
    if (looseMode) warn(looseMode);
    return { key, path };
  } catch (thrown) {
    throw toFileFailure(thrown, { path, ...keyFile });
  }
};

const readKey = (path: string) => {
  if (!existsSync(path)) return undefined;
  const key = readFileSync(path, "utf8").trim();
  if (/^[\x21-\x7e]{16,}$/.test(key)) return key;
  throw new Failure("storage", "invalid-local-key", `${path} does not contain a valid key of the local service`, {
    hint: `delete the file, so that the next start makes a new key: \`${formatCommandLine(["rm", path])}\``,
    where: { file: path },
  });
};

const createLocalKey = async (path: string, host: Host) => {
  const lock = await waitForLock({ path: `${path}.lock`, ...keyFile, host, maxWaitMs: maxLockWaitMs });
  if (!lock) throw databaseLocked({ path, ...keyFile });
  try {
    const existing = readKey(path);
    if (existing !== undefined) return existing;
    const key = `rollcall-local-${randomBytes(24).toString("base64url")}`;
    writeFileAtomically(path, [`${key}\n`], 0o600);
    return key;
  } finally {
    lock.release();
  }
};

/** @throws HttpRefusal 401 */
const requireCredential = (header: string | undefined, { use }: Pick<Endpoint, "use">, key: string) => {
  if (use === undefined) return;
  const scheme = use === "calls" ? "basic" : "bearer";
  if (isAuthorized(header, key, scheme)) return;
  const realm = `${scheme === "basic" ? "Basic" : "Bearer"} realm="rollcall"`;
  throw new HttpRefusal(401, "Invalid or missing credentials", { "WWW-Authenticate": realm });
};
