/** Logging trajectories (service-interface 4.1): each becomes a call, and the metrics are computed over the request. */
import { createHash } from "node:crypto";
import { type LogRequest, logTrajectories } from "../contract/log.ts";
import { Tally } from "../trajectories/metrics.ts";
import { type Answer, detailWording, invalid } from "./answer.ts";
import { callIds } from "./identifier.ts";
import { type Operation, operation } from "./operation.ts";
import { objectText } from "./raw.ts";
import { requestSpans } from "./spans.ts";
import type { LoggedRequest, Store, StoredRequest } from "./store.ts";

/** What logging needs. */
export interface LogRoom {
  readonly store: Store;
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The operation that logs. */
export const logOperation = (room: LogRoom): Operation =>
  operation(logTrajectories, detailWording, ({ parameters: { model_id: model }, body, bytes, header }) => {
    const { store } = room;
    const key = keyOf(header);
    const once = key === undefined ? undefined : { key, digest: digestOf(model, bytes) };
    const before = once === undefined ? undefined : store.logged(once.key);
    if (before !== undefined) return answerOf(same(before, once));
    const request = storedOf(room, { model, body, bytes, once });
    const meanwhile = store.keep(request);
    if (meanwhile !== undefined) return answerOf(same(meanwhile, once));
    return answerOf({ metrics: request.metrics, callIds: request.trajectories.map(({ id }) => id) });
  });

interface Logged {
  readonly model: string;
  readonly body: LogRequest;
  readonly bytes: Uint8Array;
  readonly once: StoredRequest["once"];
}

const storedOf = ({ project, now }: LogRoom, { model, body, bytes, once }: Logged): StoredRequest => {
  const loggedAt = now();
  const { rest, groupRests, trajectories } = requestSpans(bytes);
  const ids = callIds(trajectories.length, loggedAt);
  return {
    model,
    project,
    split: body.split,
    loggedAt,
    metrics: JSON.stringify(metricsOf(body)),
    rest,
    groupRests,
    trajectories: trajectories.map((span, index) => ({
      ...span,
      id: ids[index] ?? "",
      startedAt: startOf(body.trajectory_groups[span.group]?.trajectories[span.position]?.start_time, loggedAt),
    })),
    once,
  };
};

const metricsOf = ({ split, trajectory_groups }: LogRequest): Record<string, number> => {
  const tally = new Tally();
  for (const group of trajectory_groups) tally.add(group);
  return tally.metrics(split);
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
const same = (logged: LoggedRequest, once: StoredRequest["once"]): LoggedRequest => {
  if (once === undefined || Buffer.compare(logged.digest, once.digest) === 0) return logged;
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
  body: objectText({ metrics: logged.metrics, call_ids: JSON.stringify(logged.callIds) }),
});

/** Assumed: a start that is no date and time of ISO 8601 is no start. */
const startOf = (start: string | null | undefined, loggedAt: number): string =>
  typeof start === "string" && isoTime.test(start) && !Number.isNaN(Date.parse(start))
    ? start
    : new Date(loggedAt).toISOString();

const isoTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;
