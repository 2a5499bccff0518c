/** What tells those that run a service how it is: whether it is up, whether it can answer, and its numbers. */
import type { Hono } from "hono";
import { isAuthorised, isOwnMachine } from "./access.ts";
import type { Bindings } from "./app.ts";
import type { Watch } from "./watch.ts";

/** How a service is looked at. */
export interface HealthOptions {
  readonly watch: Watch;
  readonly key: string;
  /** Resolves where the store answers. */
  readonly check: () => Promise<void>;
  readonly isDraining: () => boolean;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** How long the store may take to answer whoever looks. */
const patienceMs = 2000;

/** Adds the places. What balances load asks them by an address, without a credential: they say nothing but how it is. */
export const addHealth = (app: Hono<Bindings>, { watch, key, check, isDraining, sleep }: HealthOptions): void => {
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
  app.get("/healthz", ({ env }) => {
    watch.of(env.incoming).operation = "health";
    return answered(200, "up");
  });
  app.get("/readyz", async ({ env }) => {
    watch.of(env.incoming).operation = "ready";
    if (isDraining()) return answered(503, "stopping");
    return (await isReady()) ? answered(200, "ready") : answered(503, "the store does not answer");
  });
  app.get("/metrics", ({ env, req }) => {
    watch.of(env.incoming).operation = "metrics";
    if (!isOwnMachine(env.incoming) && !isAuthorised(req.header("authorization"), "bearer", key)) {
      const headers = { "WWW-Authenticate": 'Bearer realm="rollcall"' };
      return Response.json({ detail: "Invalid or missing credentials" }, { status: 401, headers });
    }
    return new Response(watch.metrics(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  });
};

const answered = (status: number, text: string): Response =>
  Response.json({ status: text }, { status, headers: { "Cache-Control": "no-store" } });
