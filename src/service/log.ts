/** Logging trajectories (service-interface 4.1): each becomes a call, and the metrics are computed over the request. */
import { createHash } from "node:crypto";
import { logTrajectories } from "../contract/log.ts";
import { type Answer, detailWording, invalid } from "./answer.ts";
import { callIds } from "./identifier.ts";
import { type Operation, operation } from "./operation.ts";
import { objectText } from "./raw.ts";
import { requestSpans } from "./spans.ts";
import type { LoggedRequest, Store, StoredRequest } from "./store.ts";
import { readSummary, type Summary, summaryOf } from "./summary.ts";

/** What logging needs. */
export interface LogRoom {
  readonly store: Store;
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The operation that logs. */
export const logOperation = (room: LogRoom): Operation => {
  // What is wrong with a request, and where, is found by looking at all of it.
  const closer = operation(logTrajectories, detailWording, ({ parameters, body, bytes, header }) =>
    answerTo(room, { model: parameters.model_id, summary: summaryOf(body), bytes, header }),
  );
  return {
    ...closer,
    answer: async (request) => {
      const { bytes = new Uint8Array(), header } = request;
      const summary = await readSummary(bytes);
      const parameters = logTrajectories.parameters.safeParse(request.parameters);
      if (summary === undefined || !parameters.success) return await closer.answer(request);
      return answerTo(room, { model: parameters.data.model_id, summary, bytes, header });
    },
  };
};

interface Given {
  readonly model: string;
  readonly summary: Summary;
  readonly bytes: Uint8Array;
  readonly header: (name: string) => string | undefined;
}

const answerTo = (room: LogRoom, { model, summary, bytes, header }: Given): Answer => {
  const { store } = room;
  const key = keyOf(header);
  const once = key === undefined ? undefined : { key, digest: digestOf(model, bytes) };
  const before = once === undefined ? undefined : store.logged(once.key);
  if (before !== undefined) return answerOf(same(before, once));
  const request = storedOf(room, { model, summary, bytes, once });
  const meanwhile = store.keep(request);
  if (meanwhile !== undefined) return answerOf(same(meanwhile, once));
  return answerOf({ metrics: request.metrics, callIds: request.trajectories.map(({ id }) => id) });
};

const storedOf = (
  { project, now }: LogRoom,
  { model, summary: { split, metrics, starts }, bytes, once }: Omit<Given, "header"> & Pick<StoredRequest, "once">,
): StoredRequest => {
  const loggedAt = now();
  const { rest, groupRests, trajectories } = requestSpans(bytes);
  const ids = callIds(trajectories.length, loggedAt);
  const unsaid = new Date(loggedAt).toISOString();
  return {
    model,
    project,
    split,
    loggedAt,
    metrics: JSON.stringify(metrics),
    rest,
    groupRests,
    trajectories: trajectories.map((span, index) => ({
      ...span,
      id: ids[index] ?? "",
      startedAt: startOf(starts[span.group]?.[span.position], unsaid),
    })),
    once,
  };
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
const startOf = (start: string | null | undefined, unsaid: string): string =>
  typeof start === "string" && isoTime.test(start) && !Number.isNaN(Date.parse(start)) ? start : unsaid;

const isoTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;
