/** Tries a request once, and says truthfully what is known of it. Whatever the network or the service does is a value. */
import type { Credential, Endpoint, Schema } from "../contract/endpoint.ts";
import { type Decoded, decode } from "./body.ts";
import type { Attempt, ClientOptions, StreamedBody, StreamedRequest } from "./client.ts";
import type { Connections } from "./connect.ts";
import { type Exchanged, exchange } from "./exchange.ts";
import { type Answer, type Asked, failureOfStatus, failureOfTrouble } from "./failures.ts";
import { type Route, routeTo } from "./proxy.ts";
import { type Credentials, headersOf, type Target, targetOf } from "./request.ts";
import { traceReply, traceRequest } from "./trace.ts";
import { Trouble } from "./trouble.ts";

/** Longest silence of a log: the service computes metrics before it answers (promises.md, "Global options"). */
const logSilenceMs = 300_000;

/** How many times that an answer that goes on and on may take, from the last of the body on. */
const timesForAnswer = 2;

/** The largest answer that is read: the call ids of a million trajectories, or the items of a refusal that echo a request. */
const largestAnswerBytes = 64 * 1024 * 1024;

/** Tries a streamed request once; once more where a 401 brought another credential, since that says that nothing was done. */
export const attempt = async <P extends Schema, B extends Schema, R extends Schema>(
  {
    options,
    connections,
    credentials,
  }: { readonly options: ClientOptions; readonly connections: Connections; readonly credentials: Credentials },
  endpoint: Endpoint<P, B, R>,
  request: StreamedRequest<P>,
): Promise<Attempt> => {
  const target = targetOf(options, endpoint, request.parameters);
  const route = routeTo(target.address, options.host.env);
  const silenceMs = options.timeoutMs ?? logSilenceMs;
  const { body, headers = {}, signal = options.host.signal } = request;
  const wholeMs = timesForAnswer * silenceMs;
  const trial = { target, route, silenceMs, wholeMs, body, headers, signal, limitBytes: largestAnswerBytes };
  const credential = await credentials.of(target);
  const asked = { options, target, route, credential, silenceMs, tries: 1, encoding: headers["Content-Encoding"] };
  const tried = await tryUnlessStale(options, connections, { ...trial, credential });
  if (tried.status !== 401 || credential === undefined) return attemptOf(asked, tried);
  const another = await credentials.another(target, credential);
  if (another === undefined) return attemptOf(asked, tried);
  const again = await tryUnlessStale(options, connections, { ...trial, credential: another });
  return attemptOf({ ...asked, credential: another, tries: 2 }, again);
};

/** Tries a request; again, at once, where the connection had been closed since it carried another and the body had not left. */
const tryUnlessStale: typeof tryOnce = async (options, connections, trial) => {
  for (;;) {
    const tried = await tryOnce(options, connections, trial);
    const isStale = tried.reused && tried.status === undefined && !tried.bodySent;
    if (!isStale || !codesOfStale.has(tried.trouble?.code ?? "")) return tried;
  }
};

const codesOfStale = new Set(["CUT", "ECONNRESET", "EPIPE"]);

const attemptOf = (asked: Asked, tried: Tried): Attempt => {
  const { status, bodySent, headers } = tried;
  if (status === undefined) {
    const trouble = tried.trouble ?? new Trouble("CUT");
    return { kind: "broken", bodySent, code: trouble.code, failure: failureOfTrouble(asked, trouble) };
  }
  return {
    kind: "answered",
    status,
    retryAfterMs: tried.retryAfterMs,
    idempotencyKey: headers["idempotency-key"],
    body: tried.bytes,
    cut: tried.trouble !== undefined || tried.fault !== undefined,
    bodySent,
    failure: status >= 200 && status < 300 ? undefined : failureOfStatus(asked, status, tried),
  };
};

interface Trial {
  readonly target: Target;
  readonly route: Route;
  readonly credential: Credential | undefined;
  readonly body: Uint8Array | StreamedBody | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly silenceMs: number;
  /** Longest time for it as a whole, or, of a streamed body, for the answer. */
  readonly wholeMs: number;
  /** Largest body that is read: as it comes and decoded. */
  readonly limitBytes: number;
  readonly signal: AbortSignal;
}

/** What became of it. */
export interface Tried extends Answer {
  readonly status: number | undefined;
  readonly fault: Decoded["fault"];
  readonly trouble: Trouble | undefined;
  readonly bodySent: boolean;
  readonly reused: boolean;
}

/** Tries a request once. @throws Failure for headers that can't be sent; whatever a streamed body throws */
export const tryOnce = async (options: ClientOptions, connections: Connections, trial: Trial): Promise<Tried> => {
  const { target, route, body, silenceMs, wholeMs, limitBytes, signal } = trial;
  const { method } = target.endpoint;
  const headers = headersOf(options, target, trial.credential, trial.headers);
  traceRequest(options.trace, { method, url: target.url, headers, project: options.project?.header });
  const { elapsed, now } = options.host;
  const started = elapsed();
  const length = body === undefined ? [] : ["Content-Length", String(body.length)];
  const exchanged = await exchange(
    connections,
    { method, route, path: target.path, headers: [...headers.flat(), ...length], body },
    { silenceMs, wholeMs, bodyBytes: limitBytes, signal },
  );
  const { body: bytes, ...answer } = exchanged;
  traceReply(options.trace, { ...answer, bytes: bytes.length, tookMs: elapsed() - started });
  return { ...answer, ...(await decoded(exchanged, limitBytes)), retryAfterMs: retryAfterMs(answer.headers, now()) };
};

const decoded = async ({ body, headers }: Exchanged, limitBytes: number): Promise<Decoded> => {
  const encoding = headers["content-encoding"];
  return encoding === undefined ? { bytes: body, fault: undefined } : await decode(body, encoding, limitBytes);
};

/**
 * How long a service asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3).
 * Undefined where it asks nothing that can be read.
 */
export const retryAfterMs = (headers: Readonly<Record<string, string>>, now: number): number | undefined => {
  const exact = numberOf(headers["retry-after-ms"]);
  if (exact !== undefined) return exact;
  const text = headers["retry-after"]?.trim();
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1000;
  const date = text === undefined || !/[a-z]/i.test(text) ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d{1,12}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
