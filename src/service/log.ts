/** Logging trajectories (service-interface 4.1): each becomes a call, and the metrics are computed over the request. */
import { createHash } from "node:crypto";
import { type LogRequest, logTrajectories } from "../contract/log.ts";
import { Tally } from "../trajectories/metrics.ts";
import { type Answer, detailWording, invalid } from "./answer.ts";
import { callIds } from "./identifier.ts";
import { type Operation, operation } from "./operation.ts";
import { objectText } from "./raw.ts";
import { requestSpans } from "./spans.ts";
import type { LoggedRequest, Store } from "./store.ts";

/** What logging needs. */
export interface LogRoom {
  readonly store: Store;
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The operation that logs. */
export const logOperation = ({ store, project, now }: LogRoom): Operation =>
  operation(logTrajectories, detailWording, ({ parameters, body, bytes, header }) => {
    const model = parameters.model_id;
    const key = keyOf(header);
    const once = key === undefined ? undefined : { key, digest: digestOf(model, bytes) };
    const before = once === undefined ? undefined : store.logged(once.key);
    if (before !== undefined) return answerOf(same(before, once));
    const loggedAt = now();
    const spans = requestSpans(bytes);
    const ids = callIds(spans.trajectories.length, loggedAt);
    const metrics = JSON.stringify(metricsOf(body));
    const trajectories = spans.trajectories.map(({ group, position, bytes: own }, index) => ({
      id: ids[index] ?? "",
      group,
      position,
      startedAt: startOf(body.trajectory_groups[group]?.trajectories[position]?.start_time, loggedAt),
      bytes: own,
    }));
    const { rest, groupRests } = spans;
    const known = store.keep({
      model,
      project,
      split: body.split,
      loggedAt,
      metrics,
      rest,
      groupRests,
      trajectories,
      once,
    });
    if (known !== undefined) return answerOf(same(known, once));
    return answerOf({ metrics, callIds: ids });
  });

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

const same = (logged: LoggedRequest, once: { readonly key: string; readonly digest: Uint8Array } | undefined) => {
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

/** Assumed: a start that is no date is no start. */
const startOf = (start: string | null | undefined, loggedAt: number): string =>
  typeof start === "string" && !Number.isNaN(Date.parse(start)) ? start : new Date(loggedAt).toISOString();
