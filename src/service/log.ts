/** Logging trajectories (interface 4.1): each becomes a call, and the metrics are computed over the request. */
import { createHash } from "node:crypto";
import { logTrajectories } from "../contract/log.ts";
import { objectText } from "../json/compose.ts";
import { type Answer, detailWording, invalid } from "./answer.ts";
import { lookCloser, readSummary, type Summary } from "./log-request.ts";
import { checked, type Operation } from "./operation.ts";
import type { LoggedRequest, Store, StoredRequest } from "./store/store.ts";

/** What logging needs. */
interface LogRoom {
  readonly store: Store;
  /** Where what is logged is recorded, unless the key is for others. */
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The operation that logs. */
export const logOperation = (room: LogRoom): Operation => ({
  endpoint: logTrajectories,
  wording: detailWording,
  answer: async ({ parameters, bytes = new Uint8Array(), header, caller }) => {
    const { model_id: model } = checked(logTrajectories.parameters, parameters, "path");
    // What is wrong with a request, and where, is found by looking at all of it.
    const summary = (await readSummary(bytes)) ?? (await lookCloser(bytes));
    return await answerTo(room, { model, project: caller.projects?.[0] ?? room.project, summary, bytes, header });
  },
});

interface Given {
  readonly model: string;
  readonly project: string;
  readonly summary: Summary;
  readonly bytes: Uint8Array;
  readonly header: (name: string) => string | undefined;
}

const answerTo = async (
  { store, now }: LogRoom,
  { model, project, summary, bytes, header }: Given,
): Promise<Answer> => {
  const key = keyOf(header);
  const once = key === undefined ? undefined : { key, digest: digestOf(model, bytes) };
  const before = once === undefined ? undefined : await store.logged({ project, key: once.key });
  if (before !== undefined) return answerOf(sameRequest(before, once));
  const metrics = JSON.stringify(summary.metrics);
  const { logged, isNew } = await store.keep({ ...summary, metrics, model, project, loggedAt: now(), bytes, once });
  // The same request may have been on its way twice.
  return isNew ? { ...answerOf(logged), stored: bytes.length } : answerOf(sameRequest(logged, once));
};

/** Longest key that is kept. */
const maxKeyLength = 255;

const keyOf = (header: (name: string) => string | undefined): string | undefined => {
  const key = header("idempotency-key");
  if (key === undefined || key.length <= maxKeyLength) return key;
  throw invalid([
    {
      loc: ["header", "Idempotency-Key"],
      msg: `String should have at most ${maxKeyLength} characters`,
      type: "string_too_long",
      input: key,
      ctx: { max_length: maxKeyLength },
    },
  ]);
};

/** What two requests under the same key must have in common. */
const digestOf = (model: string, bytes: Uint8Array): Uint8Array =>
  createHash("sha256").update(`${model}\0`).update(bytes).digest();

/** What was logged under a key, if it was the same request. @throws Refusal 422 */
const sameRequest = (logged: LoggedRequest, once: StoredRequest["once"]): LoggedRequest => {
  if (once === undefined || Buffer.compare(logged.digest ?? new Uint8Array(), once.digest) === 0) return logged;
  throw invalid([
    {
      loc: ["header", "Idempotency-Key"],
      msg: "Idempotency-Key was used with another model or body",
      type: "idempotency_key_reused",
      input: once.key,
    },
  ]);
};

const answerOf = (logged: Pick<LoggedRequest, "metrics" | "callIds">): Answer => ({
  status: 200,
  body: objectText({ metrics: logged.metrics, call_ids: logged.callIds }),
});
