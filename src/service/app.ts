/** Answers the HTTP requests of the local service. */
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { requireCredential } from "./access.ts";
import { foreignRequestReason } from "./http-server/check-request.ts";
import type { Bindings } from "./http-server/server.ts";
import type { Operation } from "./operation.ts";
import { BodyReader } from "./read-body.ts";
import { detailError, HttpRefusal } from "./refusal.ts";
import type { ServiceOptions } from "./service-options.ts";
import { isStoreFailure } from "./store/store.ts";

type AppOptions = Pick<ServiceOptions, "allowHosts" | "maxBodyBytes"> &
  Readonly<{
    operations: readonly Operation[];
    key: string;
    isStopping: () => boolean;
    onError: (thrown: unknown) => void;
  }>;

export const createApp = (options: AppOptions) => {
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
    : new HttpRefusal(500, "Internal Server Error");
};

const refuse = (refusal: HttpRefusal, format = detailError) =>
  respond(refusal.status, JSON.stringify(format(refusal)), refusal.headers);

const respond = (status: number, body: string | Uint8Array, headers: HttpRefusal["headers"] = {}) =>
  new Response(body, { status, headers: { "Content-Type": "application/json", ...headers } });
