/** Logs trajectories (interface 4.1): each becomes a call, and the metrics are computed for the request. */
import { createHash } from "node:crypto";
import { logTrajectories } from "../contract/log.ts";
import { objectText } from "../json/compose.ts";
import { readLogRequest } from "./log-request.ts";
import { checked, type Operation } from "./operation.ts";
import { type Answer, detailWording, invalid, type Refusal } from "./refusal.ts";
import type { LoggedRequest, Store } from "./store/store.ts";

interface LogOptions {
  readonly store: Store;
  /** The project that calls are recorded in, unless the key is for others. */
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Longest `Idempotency-Key`. */
const maxKeyLength = 255;

/** The operation that logs. Its body is read without all of its values in memory. */
export const logOperation = ({ store, project: own, now }: LogOptions): Operation => ({
  endpoint: logTrajectories,
  wording: detailWording,
  answer: async ({ parameters, bytes = new Uint8Array(), header, caller }) => {
    const { model_id: model } = checked(logTrajectories.parameters, parameters, "path");
    const summary = await readLogRequest(bytes);
    const project = caller.projects?.[0] ?? own;
    const key = header("idempotency-key");
    if (key !== undefined && key.length > maxKeyLength) {
      const msg = `String should have at most ${maxKeyLength} characters`;
      throw invalidKey(key, { msg, type: "string_too_long", ctx: { max_length: maxKeyLength } });
    }
    const once = key === undefined ? undefined : { key, digest: digestOf(model, bytes) };
    const before = once === undefined ? undefined : await store.logged({ project, key: once.key });
    if (before !== undefined) return answerOf(before, once);
    const metrics = JSON.stringify(summary.metrics);
    const { logged, isNew } = await store.keep({ ...summary, metrics, model, project, loggedAt: now(), bytes, once });
    // Two requests with one key can be in flight at the same time.
    return { ...answerOf(logged, once), ...(isNew ? { stored: bytes.length } : {}) };
  },
});

const invalidKey = (
  key: string,
  { msg, type, ctx }: { readonly msg: string; readonly type: string; readonly ctx?: Record<string, unknown> },
): Refusal => invalid([{ loc: ["header", "Idempotency-Key"], msg, type, input: key, ctx }]);

/** The digest that is the same for all requests with a key. */
const digestOf = (model: string, bytes: Uint8Array): Uint8Array =>
  createHash("sha256").update(`${model}\0`).update(bytes).digest();

/** Answers with what was logged, if that was the same request. @throws Refusal 422 */
const answerOf = (
  { digest = new Uint8Array(), metrics, callIds }: LoggedRequest,
  once: { readonly key: string; readonly digest: Uint8Array } | undefined,
): Answer => {
  if (once !== undefined && Buffer.compare(digest, once.digest) !== 0) {
    const msg = "Idempotency-Key was used with another model or body";
    throw invalidKey(once.key, { msg, type: "idempotency_key_reused" });
  }
  return { status: 200, body: objectText({ metrics, call_ids: callIds }) };
};
