/** The interface as a web application: each operation at its path, credentials first, errors in the interface's shapes. */
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { type Endpoint, parameterNames } from "../contract/endpoint.ts";
import { isFailure } from "../failure.ts";
import { type Authenticator, foreignRequestReason, isAuthorized, isDirectFromLoopback } from "./access.ts";
import { type BodyReader, openBodyReader } from "./body.ts";
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
  /** Called with what made an answer impossible. */
  readonly onError: (thrown: unknown) => void;
}

export const createApp = (options: AppOptions): Hono<Bindings> => {
  const { operations, allowHosts, telemetry: watch, isStopping, onError: onTrouble } = options;
  const withBody = openBodyReader(options.maxBodyBytes);
  const app = new Hono<Bindings>();
  /** Names the operation of a request, whatever its answer is. */
  const nameOperation = (name: string): MiddlewareHandler<Bindings> => {
    return async ({ env }, next) => {
      watch.of(env.incoming).operation = name.replaceAll(" ", "_");
      await next();
    };
  };
  for (const name of ["health", "ready", "metrics"] as const) app.get(healthPaths[name], nameOperation(name));
  addHealth(app, options);
  for (const { endpoint } of operations) app.on(endpoint.method, routePath(endpoint), nameOperation(endpoint.name));
  app.use(async ({ env }, next) => {
    if (isStopping()) {
      return respond(
        answerRefusal(new Refusal(503, "the service is stopping", { headers: retryAfter(1) }), detailError),
      );
    }
    const why = foreignRequestReason(env.incoming.headers, allowHosts);
    return why === undefined ? await next() : respondRefusal(new Refusal(403, why));
  });
  for (const operation of operations) {
    const { endpoint, errorFormat: wording } = operation;
    app.on(endpoint.method, routePath(endpoint), async (context) => {
      let echo: Readonly<Record<string, string>> = {};
      try {
        // Before anything is read.
        const asked = { scheme: endpoint.auth, use: endpoint.use };
        const caller = await options.authenticate(context.req.header("authorization"), asked);
        watch.of(context.env.incoming).key = caller.name;
        echo = idempotencyEcho(context, endpoint);
        return respond(await runOperation(context, operation, { caller, watch, withBody }), echo);
      } catch (thrown) {
        return respond(answerRefusal(refusalOf(thrown, onTrouble), wording), echo);
      }
    });
    const allowed = endpoint.method === "GET" ? "GET, HEAD" : endpoint.method;
    app.all(routePath(endpoint), () =>
      respondRefusal(new Refusal(405, "Method Not Allowed", { headers: { Allow: allowed } })),
    );
  }
  app.notFound(() => respondRefusal(new Refusal(404, "Not Found")));
  app.onError((error) => respondRefusal(refusalOf(error, onTrouble)));
  return app;
};

const routePath = ({ path }: Endpoint): string => path.replaceAll(/\{([a-z_]+)\}/g, ":$1");

const retryAfter = (seconds: number) => ({ "Retry-After": `${seconds}` });

/** The refusal of a request that failed. Only a 503 with `Retry-After` says that nothing was stored. */
const refusalOf = (thrown: unknown, onTrouble: AppOptions["onError"]): Refusal => {
  if (thrown instanceof Refusal) return thrown;
  onTrouble(thrown);
  if (isFailure(thrown, "store-outcome-unknown"))
    return new Refusal(500, "the store went away; the request may be stored");
  return isStoreFailure(thrown)
    ? new Refusal(503, "the store can't be used now; nothing was stored", { headers: retryAfter(5) })
    : new Refusal(500, "Internal Server Error");
};

const respondRefusal = (refusal: Refusal): Response => respond(answerRefusal(refusal, detailError));

const respond = ({ status, headers, body }: Answer, more: Readonly<Record<string, string>> = {}): Response =>
  new Response(status === 304 ? null : body, {
    status,
    headers: { "Content-Type": "application/json", ...headers, ...more },
  });

/** The key of a request that may not be repeated otherwise: the echo says that it may. */
const idempotencyEcho = ({ req }: Context<Bindings>, { repeatable }: Endpoint): Readonly<Record<string, string>> => {
  const key = repeatable ? undefined : req.header("idempotency-key");
  return key === undefined ? {} : { "Idempotency-Key": key };
};

const runOperation = async (
  { req, env }: Context<Bindings>,
  { endpoint, answer }: Operation,
  { caller, watch, withBody }: { caller: Awaited<ReturnType<Authenticator>>; watch: Telemetry; withBody: BodyReader },
): Promise<Answer> => {
  const parameters = Object.fromEntries(parameterNames(endpoint.path).map((name) => [name, req.param(name) ?? ""]));
  const request = { caller, parameters, header: (name: string) => req.header(name) };
  if (endpoint.method === "GET") return await answer({ ...request, bytes: undefined });
  const exchange = watch.of(env.incoming);
  return await withBody(env, async (bytes) => {
    exchange.bytes = bytes.length;
    const answered = await answer({ ...request, bytes });
    exchange.stored = answered.storedBytes ?? 0;
    return answered;
  });
};

/** Load balancers ask these without a credential: the answers say nothing but the state. */
const healthPaths = { health: "/healthz", ready: "/readyz", metrics: "/metrics" } as const;

/** How long the store may take to answer. */
const readyTimeoutMs = 2000;

const addHealth = (app: Hono<Bindings>, { telemetry: watch, key, check, isStopping, sleep }: AppOptions): void => {
  const state = (status: number, text: string): Response =>
    Response.json({ status: text }, { status, headers: { "Cache-Control": "no-store" } });
  /** The answer of the store, for all who ask at the same time. */
  let ready: Promise<boolean> | undefined;
  const isReady = async (): Promise<boolean> => {
    const over = new AbortController();
    const late = sleep(readyTimeoutMs, over.signal).then(() => false);
    try {
      return await Promise.race([check().then(() => true), late]);
    } catch {
      return false;
    } finally {
      ready = undefined;
      over.abort();
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
      return Response.json({ detail: "Invalid or missing credentials" }, { status: 401, headers });
    }
    return new Response(watch.metrics(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  });
};
