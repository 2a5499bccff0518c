/** Tries a request once. Whatever the network or the service does is a value. */
import type { Endpoint, Schema } from "../contract/endpoint.ts";
import { type Asked, failureOfStatus, failureOfTransport, type ReplyFacts } from "./answers.ts";
import { type Decoded, decode } from "./body.ts";
import type { Attempt, StreamedBody, StreamedRequest } from "./client.ts";
import { type Exchanged, exchange, isStreamed } from "./exchange.ts";
import { headersOf, targetOf } from "./request.ts";
import type { Session } from "./retry.ts";
import { routeTo } from "./route.ts";
import { traceReply, traceRequest } from "./trace.ts";
import { TransportError } from "./transport-error.ts";

/** Longest silence of a log: the service computes metrics before it replies (promises.md, "Global options"). */
const logSilenceMs = 300_000;

/** The reply to a log may take this many times the longest silence as a whole, from the last piece of the body on. */
const silencesForReply = 2;

/** The largest reply to a log that is read: the call ids of a million trajectories, or the items of a refusal that echo a request. */
const maxReplyBytes = 64 * 1024 * 1024;

/** Tries a streamed request once; once more if a 401 brought another credential, since a 401 says that nothing was done. */
export const attempt = async <P extends Schema, B extends Schema, R extends Schema>(
  session: Session,
  endpoint: Endpoint<P, B, R>,
  { parameters, body, headers = {}, signal = session.options.host.signal }: StreamedRequest<P>,
): Promise<Attempt> => {
  const { options, credentials } = session;
  const target = targetOf(options, endpoint, parameters);
  const route = routeTo(target.address, options.host.env);
  const silenceMs = options.timeoutMs ?? logSilenceMs;
  const request = { body, headers, wholeMs: silencesForReply * silenceMs, maxBytes: maxReplyBytes, signal };
  let credential = await credentials.of(target);
  for (let tries = 1; ; tries++) {
    const asked = { options, target, route, credential, silenceMs, tries, encoding: headers["Content-Encoding"] };
    const tried = await tryOnce(session, asked, request);
    const another =
      tried.status === 401 && credential !== undefined && tries === 1
        ? await credentials.another(target, credential)
        : undefined;
    if (another === undefined) return attemptOf(asked, tried);
    credential = another;
  }
};

const attemptOf = (asked: Asked, tried: Tried): Attempt => {
  const { status, bodySent, headers } = tried;
  if (status === undefined) {
    const error = tried.error ?? new TransportError("CUT");
    return { kind: "broken", bodySent, code: error.code, failure: failureOfTransport(asked, error) };
  }
  return {
    kind: "answered",
    status,
    retryAfterMs: tried.retryAfterMs,
    idempotencyKey: headers["idempotency-key"],
    body: tried.bytes,
    cut: tried.error !== undefined || tried.fault !== undefined,
    bodySent,
    failure: status >= 200 && status < 300 ? undefined : failureOfStatus(asked, status, tried),
  };
};

/** The content of a request, and its limits. */
interface Trial {
  readonly body: Uint8Array | StreamedBody | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time for it as a whole, or, of a streamed body, for the reply. */
  readonly wholeMs: number;
  /** Largest body that is read: as it comes, and decoded. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** A reply that can be incomplete or missing. */
export interface Tried extends Omit<Exchanged, "body">, Decoded, ReplyFacts {}

/** Tries a request once. @throws Failure for headers that can't be sent; whatever a streamed body throws */
export const tryOnce = async (
  { connections }: Session,
  { options, target, route, credential, silenceMs }: Asked,
  { body, headers: own, wholeMs, maxBytes, signal }: Trial,
): Promise<Tried> => {
  const { method } = target.endpoint;
  const { elapsed, now } = options.host;
  const headers = headersOf(options, target, credential, own);
  traceRequest(options.trace, { method, url: target.url, headers, project: options.project?.header });
  const started = elapsed();
  const opened = await connections();
  // Nobody can know what became of a log that was sent while the other side closed an idle connection.
  const connection = await (isStreamed(body) ? opened.open(route) : opened.reuse(route));
  const outgoing = { method, route, path: target.path, headers, body };
  const { body: bytes, ...reply } = await exchange(connection, outgoing, { silenceMs, wholeMs, maxBytes, signal });
  traceReply(options.trace, { ...reply, bytes: bytes.length, tookMs: elapsed() - started });
  const encoding = reply.headers["content-encoding"];
  const decoded = encoding === undefined ? { bytes, fault: undefined } : await decode(bytes, encoding, maxBytes);
  return { ...reply, ...decoded, retryAfterMs: retryAfterMs(reply.headers, now()) };
};

/**
 * How long a service asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3).
 * Undefined if it asks for nothing that can be read.
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
