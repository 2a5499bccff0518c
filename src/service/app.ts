/** The interface as a web application: every operation at its place, credentials first, errors in the interface's shapes. */
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { type Endpoint, parameterNames } from "../contract/endpoint.ts";
import { isFailure } from "../failure.ts";
import { isAuthorised, isOwnMachine, whyForeign } from "./access.ts";
import { type Answer, detailWording, Refusal, refused } from "./answer.ts";
import { type Bodies, openBodies } from "./body.ts";
import type { Caller, Door } from "./keys.ts";
import type { Operation } from "./operation.ts";
import { isOfStore } from "./store/store.ts";
import type { Exchange, Watch } from "./watch.ts";

/** What an application runs on. */
export type Bindings = { Bindings: HttpBindings };

/** What the application is made of. */
interface AppOptions {
  readonly operations: readonly Operation[];
  readonly door: Door;
  readonly allowHosts: readonly string[];
  /** In bytes. */
  readonly maxBodyBytes: number;
  readonly health: HealthOptions;
  /** Told what made an answer impossible. */
  readonly onTrouble: (thrown: unknown) => void;
}

/** Builds the application. */
export const appOf = (options: AppOptions): Hono<Bindings> => {
  const { operations, door, allowHosts, maxBodyBytes, onTrouble } = options;
  const bodies = openBodies(maxBodyBytes);
  const { watch } = options.health;
  const app = new Hono<Bindings>();
  addHealth(app, options.health);
  app.use(async ({ env }, next) => {
    const why = whyForeign(env.incoming.headers, allowHosts);
    return why === undefined ? await next() : refusalResponse(new Refusal(403, why));
  });
  for (const { endpoint, wording, answer } of operations) {
    const names = parameterNames(endpoint.path);
    const place = endpoint.path.replaceAll(parameter, ":$1");
    app.on(endpoint.method, place, async (context) => {
      const exchange = watch.of(context.env.incoming);
      let caller: Caller;
      try {
        // Before anything is read.
        caller = await door.enter(context.req.header("authorization"), { scheme: endpoint.auth, use: endpoint.use });
        exchange.key = caller.name;
      } catch (thrown) {
        return responseOf(refused(refusalOf(thrown, onTrouble), wording));
      }
      const echo = echoOf(context, endpoint);
      try {
        return responseOf(await readAndAnswer(context, { endpoint, answer, caller, bodies, names, exchange }), echo);
      } catch (thrown) {
        return responseOf(refused(refusalOf(thrown, onTrouble), wording), echo);
      }
    });
    app.all(place, () =>
      refusalResponse(new Refusal(405, "Method Not Allowed", { headers: { Allow: allowed(endpoint) } })),
    );
  }
  app.notFound(() => refusalResponse(new Refusal(404, "Not Found")));
  app.onError((error) => refusalResponse(refusalOf(error, onTrouble)));
  return app;
};

const parameter = /\{([a-z_]+)\}/g;

/** What requests are for, by their methods and places, whatever becomes of them: a request that comes too late is one of its operation too. */
export const openNames = (
  operations: readonly Operation[],
): ((incoming: Pick<IncomingMessage, "method" | "url">) => string | undefined) => {
  const known = [
    ...operations.map(({ endpoint: { method, path, name } }) => ({ method, path, name: name.replaceAll(" ", "_") })),
    ...Object.entries(healthPlaces).map(([name, path]) => ({ method: "GET", path, name })),
  ].map(({ path, ...one }) => ({ ...one, place: new RegExp(`^${path.replaceAll(parameter, "[^/]+")}$`) }));
  return ({ method, url = "" }) => {
    const [path = ""] = url.split("?");
    const asked = method === "HEAD" ? "GET" : method;
    return known.find((one) => one.method === asked && one.place.test(path))?.name;
  };
};

/** What ended a request, as a refusal. What the store can't do did not happen, which only a 503 with `Retry-After` says. */
const refusalOf = (thrown: unknown, onTrouble: AppOptions["onTrouble"]): Refusal => {
  if (thrown instanceof Refusal) return thrown;
  onTrouble(thrown);
  if (isFailure(thrown, "store-unsure")) return new Refusal(500, "the store went away; the request may be stored");
  return isOfStore(thrown)
    ? new Refusal(503, "the store can't be used now; nothing was stored", { headers: { "Retry-After": "5" } })
    : new Refusal(500, "Internal Server Error");
};

const refusalResponse = (refusal: Refusal): Response => responseOf(refused(refusal, detailWording));

const responseOf = ({ status, headers, body }: Answer, more: Readonly<Record<string, string>> = {}): Response =>
  new Response(status === 304 ? null : body, {
    status,
    headers: { "Content-Type": "application/json", ...headers, ...more },
  });

/** The key of a request that is not safe to repeat by itself, given back to say that it makes it so. */
const echoOf = ({ req }: Context<Bindings>, { repeatable }: Endpoint): Readonly<Record<string, string>> => {
  const key = repeatable ? undefined : req.header("idempotency-key");
  return key === undefined ? {} : { "Idempotency-Key": key };
};

const allowed = ({ method }: Endpoint): string => (method === "GET" ? "GET, HEAD" : method);

/** What requests of an operation are read with. */
interface Reading {
  readonly caller: Caller;
  readonly exchange: Exchange;
  readonly bodies: Bodies;
  /** The parameters of its path. */
  readonly names: readonly string[];
}

const readAndAnswer = async (
  { req, env }: Context<Bindings>,
  { endpoint, answer, caller, bodies, names, exchange }: Pick<Operation, "endpoint" | "answer"> & Reading,
): Promise<Answer> => {
  const parameters = Object.fromEntries(names.map((name) => [name, req.param(name) ?? ""]));
  const header = (name: string): string | undefined => req.header(name);
  if (endpoint.method === "GET") return await answer({ caller, parameters, bytes: undefined, header });
  return await bodies.with(env, async (bytes) => {
    exchange.bytes = bytes.length;
    const answered = await answer({ caller, parameters, bytes, header });
    exchange.stored = answered.stored ?? 0;
    return answered;
  });
};

/** How a service is looked at. */
export interface HealthOptions {
  readonly watch: Watch;
  readonly key: string;
  /** Resolves where the store answers. */
  readonly check: () => Promise<void>;
  readonly isDraining: () => boolean;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Where it is looked at, by what that is called. */
const healthPlaces = { health: "/healthz", ready: "/readyz", metrics: "/metrics" } as const;

/** How long the store may take to answer whoever looks. */
const patienceMs = 2000;

/** Adds the places. What balances load asks them by an address, without a credential: they say nothing but how it is. */
const addHealth = (app: Hono<Bindings>, { watch, key, check, isDraining, sleep }: HealthOptions): void => {
  let asked: Promise<boolean> | undefined;
  const isReady = async (): Promise<boolean> => {
    if (asked !== undefined) return await asked;
    const over = new AbortController();
    const yes = (): boolean => true;
    const no = (): boolean => false;
    asked = Promise.race([check().then(yes, no), sleep(patienceMs, over.signal).then(no, no)]).finally(() => {
      asked = undefined;
      over.abort();
    });
    return await asked;
  };
  app.get(healthPlaces.health, () => answered(200, "up"));
  app.get(healthPlaces.ready, async () => {
    if (isDraining()) return answered(503, "stopping");
    return (await isReady()) ? answered(200, "ready") : answered(503, "the store does not answer");
  });
  app.get(healthPlaces.metrics, ({ env, req }) => {
    if (!isOwnMachine(env.incoming) && !isAuthorised(req.header("authorization"), "bearer", key)) {
      const headers = { "WWW-Authenticate": 'Bearer realm="rollcall"' };
      return Response.json({ detail: "Invalid or missing credentials" }, { status: 401, headers });
    }
    return new Response(watch.metrics(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  });
};

const answered = (status: number, text: string): Response =>
  Response.json({ status: text }, { status, headers: { "Cache-Control": "no-store" } });
