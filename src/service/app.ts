/** The interface as a web application: operations at their paths, credentials first, errors in its shapes. */
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { etag } from "hono/etag";
import type { Endpoint } from "../contract/endpoint.ts";
import { isFailure } from "../failure.ts";
import { type Authenticator, type Caller, foreignRequestReason, isAuthorized, isDirectFromLoopback } from "./access.ts";
import { openBodyReader } from "./body.ts";
import { type Answer, answerRefusal, detailError, type Operation, Refusal } from "./operation.ts";
import { isStoreFailure } from "./store/store.ts";
import type { Telemetry } from "./telemetry.ts";

export type Bindings = { Bindings: HttpBindings };

interface AppOptions {
  readonly operations: readonly Operation[];
  readonly authenticate: Authenticator;
  /** The service's own key. */
  readonly key: string;
  readonly allowHosts: readonly string[];
  readonly maxBodyBytes: number;
  readonly telemetry: Telemetry;
  /** Resolves if the store answers. */
  readonly check: () => Promise<void>;
  readonly isStopping: () => boolean;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Called with an error that is not a refusal. */
  readonly onError: (thrown: unknown) => void;
}

export const createApp = (options: AppOptions): Hono<Bindings> => {
  const { operations, allowHosts, telemetry, isStopping, onError } = options;
  const withBody = openBodyReader(options.maxBodyBytes);
  const app = new Hono<Bindings>();
  const nameOperation = (method: string, path: string, name: string) =>
    app.on(method, path, async ({ env }, next) => {
      telemetry.exchangeOf(env.incoming).operation = name.replaceAll(" ", "_");
      await next();
    });
  for (const [name, path] of Object.entries(healthPaths)) nameOperation("GET", path, name);
  addHealth(app, options);
  for (const { endpoint } of operations) nameOperation(endpoint.method, routePath(endpoint), endpoint.name);
  app.use(async ({ env }, next) => {
    if (isStopping()) return refuse(new Refusal(503, "the service is stopping", { headers: retryAfter(1) }));
    const why = foreignRequestReason(env.incoming.headers, allowHosts);
    return why === undefined ? await next() : refuse(new Refusal(403, why));
  });
  const runOperation = async ({ req, env }: Context<Bindings>, { endpoint, answer }: Operation, caller: Caller) => {
    const request = { caller, parameters: req.param(), header: (name: string) => req.header(name) };
    if (endpoint.method === "GET") return await answer({ ...request, bytes: undefined });
    return await withBody(env, async (bytes) => {
      const exchange = telemetry.exchangeOf(env.incoming);
      exchange.bytes = bytes.length;
      const answered = await answer({ ...request, bytes });
      exchange.stored = answered.storedBytes ?? 0;
      return answered;
    });
  };
  for (const operation of operations) {
    const { endpoint, errorFormat } = operation;
    if (endpoint.method === "GET") app.use(routePath(endpoint), etag());
    app.on(endpoint.method, routePath(endpoint), async (context) => {
      let echo: Readonly<Record<string, string>> = {};
      try {
        // Before anything is read.
        const caller = await options.authenticate(context.req.header("authorization"), endpoint);
        telemetry.exchangeOf(context.env.incoming).key = caller.name;
        echo = idempotencyEcho(context, endpoint);
        return respond(await runOperation(context, operation, caller), echo);
      } catch (thrown) {
        return respond(answerRefusal(toRefusal(thrown, onError), errorFormat), echo);
      }
    });
    const allowed = endpoint.method === "GET" ? "GET, HEAD" : endpoint.method;
    app.all(routePath(endpoint), () => refuse(new Refusal(405, "Method Not Allowed", { headers: { Allow: allowed } })));
  }
  app.notFound(() => refuse(new Refusal(404, "Not Found")));
  app.onError((error) => refuse(toRefusal(error, onError)));
  return app;
};

const routePath = ({ path }: Endpoint): string => path.replaceAll(/\{([a-z_]+)\}/g, ":$1");

const retryAfter = (seconds: number) => ({ "Retry-After": `${seconds}` });

/** Only a 503 with `Retry-After` says that nothing was stored. */
const toRefusal = (thrown: unknown, onError: AppOptions["onError"]): Refusal => {
  if (thrown instanceof Refusal) return thrown;
  onError(thrown);
  if (isFailure(thrown, "store-outcome-unknown")) {
    return new Refusal(500, "lost the connection to the store, so the request may or may not be stored");
  }
  return isStoreFailure(thrown)
    ? new Refusal(503, "the store is unavailable, and nothing was stored", { headers: retryAfter(5) })
    : new Refusal(500, "Internal Server Error");
};

const refuse = (refusal: Refusal): Response => respond(answerRefusal(refusal, detailError));

const respond = ({ status, headers, body }: Answer, more: Readonly<Record<string, string>> = {}): Response =>
  new Response(body, {
    status,
    headers: { "Content-Type": "application/json", ...headers, ...more },
  });

/** An echoed key tells the client that it may resend the request. */
const idempotencyEcho = ({ req }: Context<Bindings>, { repeatable }: Endpoint): Readonly<Record<string, string>> => {
  const key = repeatable ? undefined : req.header("idempotency-key");
  return key === undefined ? {} : { "Idempotency-Key": key };
};

/** Load balancers request these without a credential, so the answers contain nothing but the state. */
const healthPaths = { health: "/healthz", ready: "/readyz", metrics: "/metrics" } as const;

/** Time for the store to answer. */
const readyTimeoutMs = 2000;

const addHealth = (app: Hono<Bindings>, { telemetry, key, check, isStopping, sleep }: AppOptions): void => {
  const state = (status: number, text: string): Response =>
    Response.json({ status: text }, { status, headers: { "Cache-Control": "no-store" } });
  /** Concurrent requests share one check. */
  let ready: Promise<boolean> | undefined;
  const isReady = async (): Promise<boolean> => {
    const timeout = new AbortController();
    const late = sleep(readyTimeoutMs, timeout.signal).then(() => false);
    try {
      return await Promise.race([check().then(() => true), late]);
    } catch {
      return false;
    } finally {
      ready = undefined;
      timeout.abort();
    }
  };
  app.get(healthPaths.health, () => state(200, "up"));
  app.get(healthPaths.ready, async () => {
    if (isStopping()) return state(503, "stopping");
    ready ??= isReady();
    return (await ready) ? state(200, "ready") : state(503, "the store does not answer");
  });
  app.get(healthPaths.metrics, ({ env, req }) => {
    if (!isDirectFromLoopback(env.incoming) && !isAuthorized(req.header("authorization"), "bearer", key)) {
      const headers = { "WWW-Authenticate": 'Bearer realm="rollcall"' };
      return refuse(new Refusal(401, "Invalid or missing credentials", { headers }));
    }
    const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" };
    return respond({ status: 200, body: telemetry.formatMetrics(), headers });
  });
};
