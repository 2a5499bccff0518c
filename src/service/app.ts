/** Answers the HTTP requests of the local service. */
import { randomUUID } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { requireCredential } from "./access.ts";
import { foreignRequestReason } from "./http-server/check-request.ts";
import type { Bindings } from "./http-server/server.ts";
import type { Operation } from "./operation.ts";
import { BodyReader } from "./read-body.ts";
import { detailError, HttpRefusal } from "./refusal.ts";
import type { Exchange, ServiceOptions } from "./service-options.ts";
import { isStoreFailure } from "./store/store.ts";

type AppOptions = Pick<ServiceOptions, "host" | "allowHosts" | "maxBodyBytes" | "onEnd"> &
  Readonly<{
    operations: readonly Operation[];
    key: string;
    check: () => Promise<void>;
    isStopping: () => boolean;
    onError: (thrown: unknown) => void;
  }>;

type ServiceApp = Bindings & { Variables: { exchange: Exchange } };

type ServiceContext = Context<ServiceApp>;

export const createApp = (options: AppOptions) => {
  const { operations, isStopping, onError } = options;
  const bodies = new BodyReader();
  const app = new Hono<ServiceApp>();
  app.use(async (context, next) => {
    context.set("exchange", startExchange(context.env, options));
    await next();
  });
  // These paths need no credential, so the answers contain no data.
  app.get("/healthz", ({ var: { exchange } }) => {
    exchange.operation = "health";
    return answerState(200, "up");
  });
  app.get("/readyz", async ({ var: { exchange } }) => {
    exchange.operation = "ready";
    if (isStopping()) return answerState(503, "stopping");
    return (await isReady(options)) ? answerState(200, "ready") : answerState(503, "the store does not answer");
  });
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

const startExchange = ({ incoming, outgoing }: HttpBindings, { host, onEnd }: AppOptions) => {
  const started = host.elapsed();
  const givenId = String(incoming.headers["x-request-id"] ?? "");
  const exchange: Exchange = {
    id: requestIdPattern.test(givenId) ? givenId : randomUUID(),
    operation: "other",
    method: incoming.method ?? "",
    status: null,
    duration_ms: 0,
    bytes: 0,
    stored_bytes: 0,
  };
  outgoing.setHeader("X-Request-Id", exchange.id);
  outgoing.on("close", () => {
    if (outgoing.headersSent) exchange.status = outgoing.statusCode;
    exchange.duration_ms = Math.round((host.elapsed() - started) * 10) / 10;
    onEnd?.(exchange);
  });
  return exchange;
};

/** @throws HttpRefusal 403, 503 */
const requireAllowed = ({ incoming }: HttpBindings, { isStopping, allowHosts }: AppOptions) => {
  if (isStopping()) throw new HttpRefusal(503, "the service is stopping", { "Retry-After": "1" });
  const reason = foreignRequestReason(incoming.headers, allowHosts);
  if (reason !== undefined) throw new HttpRefusal(403, reason);
};

const answerOperation = async (
  { endpoint, answer, maxBodyBytes = Number.POSITIVE_INFINITY }: Operation,
  { req, env, var: { exchange } }: ServiceContext,
  options: AppOptions,
  bodies: BodyReader,
) => {
  exchange.operation = endpoint.name.replace(" the ", " ").replaceAll(" ", "_");
  requireAllowed(env, options);
  requireCredential(req.header("authorization"), endpoint, options.key);
  const idempotencyKey = endpoint.repeatable ? undefined : req.header("idempotency-key");
  // This header tells the client that resending is safe.
  if (idempotencyKey !== undefined) env.outgoing.setHeader("Idempotency-Key", idempotencyKey);
  const request = { parameters: req.param(), idempotencyKey };
  if (endpoint.method === "GET") return respond(200, (await answer({ ...request, body: undefined })).body);
  return await bodies.read(env, Math.min(maxBodyBytes, options.maxBodyBytes), async (body) => {
    exchange.bytes = body.reduce((sum, { length }) => sum + length, 0);
    const reply = await answer({ ...request, body });
    exchange.stored_bytes = reply.storedBytes ?? 0;
    return respond(200, reply.body);
  });
};

const requestIdPattern = /^[\w.:=+/-]{1,128}$/;
const readyTimeoutMs = 2000;

const answerState = (status: number, text: string) =>
  Response.json({ status: text }, { status, headers: { "Cache-Control": "no-store" } });

const isReady = async ({ check, host }: AppOptions) => {
  const timeout = new AbortController();
  const timedOut = host.sleep(readyTimeoutMs, timeout.signal).then(() => false);
  return await Promise.race([check().then(() => true), timedOut])
    .catch(() => false)
    .finally(() => timeout.abort());
};

/** A 503 with `Retry-After` tells the client that nothing was stored. */
const toRefusal = (thrown: unknown, onError: AppOptions["onError"]) => {
  if (thrown instanceof HttpRefusal) return thrown;
  onError(thrown);
  return isStoreFailure(thrown)
    ? new HttpRefusal(503, "the store is unavailable, and nothing was stored", { "Retry-After": "5" })
    : new HttpRefusal(500, "Internal Server Error");
};

const refuse = (refusal: HttpRefusal, format = detailError) =>
  respond(refusal.status, JSON.stringify(format(refusal)), refusal.headers);

const respond = (status: number, body: string | Uint8Array, headers: HttpRefusal["headers"] = {}) =>
  new Response(body, { status, headers: { "Content-Type": "application/json", ...headers } });
