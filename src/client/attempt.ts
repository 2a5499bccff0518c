/** Tries a streamed request once, and says truthfully what is known of it. */
import type { Endpoint, Given, Schema } from "../contract/endpoint.ts";
import type { Attempt, StreamedBody } from "./client.ts";
import { type Asked, failureOfStatus, failureOfTrouble } from "./failures.ts";
import { type Tried, tryOnce } from "./once.ts";
import { retryAfterMs } from "./patience.ts";
import { targetOf } from "./request.ts";
import type { Room } from "./room.ts";
import { routeTo } from "./route.ts";
import { Trouble } from "./trouble.ts";

/** Longest silence of a log: the service computes metrics before it answers (promises.md, "Global options"). */
const logSilenceMs = 300_000;

/** The largest answer that is read: the call ids of a million trajectories, or the items of a refusal that echo a request. */
const largestAnswerBytes = 64 * 1024 * 1024;

/** Tries a request once; once more where a 401 brought another credential, since that says that nothing was done. */
export const attempt = async <P extends Schema, B extends Schema, R extends Schema>(
  room: Room,
  endpoint: Endpoint<P, B, R>,
  request: {
    readonly parameters: Given<P>;
    readonly body: StreamedBody;
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  },
): Promise<Attempt> => {
  const { options, pool, credentials } = room;
  const target = targetOf(options, endpoint, request.parameters);
  const route = routeTo(target.address, options.host.env);
  const silenceMs = options.timeoutMs ?? logSilenceMs;
  const { body, headers = {}, signal = options.host.signal } = request;
  const trial = { target, route, silenceMs, body, headers, alone: true, signal, limitBytes: largestAnswerBytes };
  const credential = await credentials.of(target);
  const asked = { options, target, route, credential, silenceMs, tries: 1 };
  const tried = await tryOnce(options, pool, { ...trial, credential });
  if (tried.status !== 401 || credential === undefined) return attemptOf(asked, tried);
  const another = await credentials.another(target, credential);
  if (another === undefined) return attemptOf(asked, tried);
  const again = await tryOnce(options, pool, { ...trial, credential: another });
  return attemptOf({ ...asked, credential: another, tries: 2 }, again);
};

const attemptOf = (asked: Asked, tried: Tried): Attempt => {
  const { status, bodySent, headers } = tried;
  const { url } = asked.target;
  if (status === undefined) {
    const trouble = tried.trouble ?? new Trouble("CUT");
    const failure = failureOfTrouble(asked, trouble);
    return { kind: "broken", bodySent, code: trouble.code, url, failure, cause: trouble.cause ?? trouble };
  }
  const askedMs = retryAfterMs(headers, asked.options.host.now());
  return {
    kind: "answered",
    status,
    retryAfterMs: askedMs,
    idempotencyKey: headers["idempotency-key"],
    body: tried.bytes,
    cut: tried.trouble !== undefined || tried.fault !== undefined,
    bodySent,
    url,
    failure: status >= 200 && status < 300 ? undefined : failureOfStatus(asked, status, tried, askedMs),
  };
};
