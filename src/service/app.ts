/** The interface as a web application: every operation at its place, credentials first, errors in the interface's shapes. */
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { parameterNames } from "../contract/endpoint.ts";
import { type Answer, detailWording, Refusal, refused } from "./answer.ts";
import { readBody } from "./body.ts";
import { isAuthorised } from "./key.ts";
import type { Operation } from "./operation.ts";

type Bindings = { Bindings: HttpBindings };

/** What the application is made of. */
export interface AppOptions {
  readonly operations: readonly Operation[];
  readonly key: string;
  readonly maxBodyBytes: number;
}

/** Builds the application. */
export const appOf = (options: AppOptions): Hono<Bindings> => {
  const app = new Hono<Bindings>();
  for (const operation of options.operations) {
    const { method, path } = operation.endpoint;
    const place = path.replaceAll(/\{([a-z_]+)\}/g, ":$1");
    app.on(method, place, async (context) => responseOf(await answerOf(context, operation, options)));
    app.all(place, () =>
      responseOf(refused(new Refusal(405, "Method Not Allowed", { headers: { Allow: method } }), detailWording)),
    );
  }
  app.notFound(() => responseOf(refused(new Refusal(404, "Not Found"), detailWording)));
  return app;
};

const answerOf = async (
  context: Context<Bindings>,
  { endpoint, wording, answer }: Operation,
  { key, maxBodyBytes }: AppOptions,
): Promise<Answer> => {
  const { incoming } = context.env;
  try {
    const header = (name: string) => context.req.header(name);
    if (!isAuthorised(header("authorization"), endpoint.auth, key)) throw unauthorised(endpoint.auth);
    const parameters = Object.fromEntries(
      parameterNames(endpoint.path).map((name) => [name, context.req.param(name) ?? ""]),
    );
    const bytes = endpoint.method === "POST" ? await readBody(incoming, maxBodyBytes) : undefined;
    return await answer({ parameters, bytes, header });
  } catch (thrown) {
    if (thrown instanceof Refusal) return refused(thrown, wording);
    throw thrown;
  }
};

const unauthorised = (scheme: string): Refusal =>
  new Refusal(401, "Invalid or missing credentials", {
    headers: { "WWW-Authenticate": `${scheme === "basic" ? "Basic" : "Bearer"} realm="rollcall"` },
  });

const responseOf = ({ status, headers, body }: Answer): Response =>
  new Response(body, { status, headers: { "Content-Type": "application/json", ...headers } });

export type Listener = (incoming: IncomingMessage) => void;
