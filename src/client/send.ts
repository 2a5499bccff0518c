/** Calls an endpoint: a read until there is a checked reply or a reason to stop, a log once. */
import { promisify } from "node:util";
import type { Credential, Endpoint, Schema } from "../contract/endpoint.ts";
import { getErrorCode } from "../files.ts";
import { bomLength } from "../json/walk.ts";
import type { Connections } from "./connections.ts";
import {
  type ExchangeResult,
  isRetryable,
  isStreamed,
  type OutgoingRequest,
  runExchange,
  TransportError,
} from "./exchange.ts";
import {
  invalidReply,
  isTransientStatus,
  type RequestContext,
  replyTooLarge,
  toStatusFailure,
  toTransportFailure,
} from "./failures.ts";
import type {
  Attempt,
  CachedReply,
  ClientOptions,
  EndpointRequest,
  Reply,
  RetryBudget,
  StreamedRequest,
  Validators,
} from "./index.ts";
import { buildHeaders, type CredentialSource, findTarget, isHeaderValue, traceRequest } from "./request.ts";

/** What one open client keeps between its requests. */
export interface Session {
  readonly options: ClientOptions;
  /** Loads undici. */
  readonly connections: () => Promise<Connections>;
  readonly credentials: CredentialSource;
  /** Until when nothing is sent to an origin, because its service asked to wait. Monotonic milliseconds. */
  readonly pausedUntilMs: Map<string, number>;
  /** Reasons for waiting that a person was told of. */
  readonly announcedReasons: Set<string>;
}

/** Longest silence of a read, and of a log, whose metrics are computed first (guarantees.md). */
export const maxReadSilenceMs = 30_000;
const maxLogSilenceMs = 300_000;

/** The reply to a log may take this many times the longest silence as a whole, from the last piece of the body on. */
const maxReplySilences = 2;

/** The largest reply to a log: the call ids of a million trajectories, or a refusal that echoes a request. */
const maxLogReplyBytes = 64 * 1024 * 1024;

/** The largest reply to a read, decoded: lists of today are a thousandth of it, and V8's strings end at twice it. */
const maxReplyBytes = 256 * 1024 * 1024;

/** After this many tries somebody who looks at the screen wants to know; before, it is over too soon to be read. */
export const triesBeforeNotice = 3;

/** The content of a request, and its limits. */
interface RequestContent extends Pick<OutgoingRequest, "body" | "wholeMs" | "signal" | "maxBytes"> {
  readonly headers: Readonly<Record<string, string>>;
}

/** A reply that can be incomplete or missing; its bytes are decoded. */
interface TryResult extends ExchangeResult {
  /** Why the body is not whole: it ended early or is damaged, is over the limit, or has another encoding. */
  readonly fault: "cut" | "too-long" | "unknown-encoding" | undefined;
  readonly retryAfterMs: number | undefined;
  readonly credential: Credential | undefined;
}

/** Tries a request, and once more if a 401 brought another credential: a 401 says that nothing was done. */
const tryRequest = async (session: Session, asked: RequestContext, content: RequestContent): Promise<TryResult> => {
  const credential = await session.credentials(asked);
  const tried = await tryOnce(session, asked, { ...content, credential });
  if (tried.status !== 401 || credential === undefined || content.signal.aborted) return tried;
  const another = await session.credentials(asked, credential);
  return another === undefined ? tried : await tryOnce(session, asked, { ...content, credential: another });
};

const tryOnce = async (
  { options, connections }: Session,
  { endpoint, path, url, route, silenceMs }: RequestContext,
  { credential, headers: own, ...content }: RequestContent & Pick<TryResult, "credential">,
): Promise<TryResult> => {
  const { method } = endpoint;
  const headers = buildHeaders(options, endpoint, { credential, own });
  const traceReply = traceRequest(options, { method, url, headers, project: options.project?.header });
  const opened = await connections();
  // Nobody can know what became of a log that was sent while the other side closed an idle connection.
  const connection = await (isStreamed(content.body) ? opened.open(route) : opened.reuse(route));
  const reply = await runExchange(connection, { method, route, path, headers, silenceMs, ...content });
  traceReply(reply, reply.bytes.length);
  const decoded = await decodeBody(reply.bytes, reply.headers["content-encoding"] ?? "", content.maxBytes);
  return { ...reply, ...decoded, retryAfterMs: parseRetryAfter(reply.headers, options.host.now()), credential };
};

/** Tries a log request once. @throws as `Client.attempt` */
export const attemptOnce = async <P extends Schema, B extends Schema, R>(
  session: Session,
  endpoint: Endpoint<P, B, R>,
  { parameters, body, headers = {}, signal = session.options.host.signal }: StreamedRequest<P>,
): Promise<Attempt> => {
  const silenceMs = session.options.timeoutMs ?? maxLogSilenceMs;
  const encoding = headers["Content-Encoding"];
  const asked = { ...findTarget(session.options, endpoint, parameters), silenceMs, tries: 1, encoding };
  const content = { body, headers, wholeMs: maxReplySilences * silenceMs, maxBytes: maxLogReplyBytes, signal };
  const tried = await tryRequest(session, asked, content);
  const { status, bodySent, error, fault } = tried;
  if (status === undefined) {
    const broken = transportErrorOf(tried);
    return { kind: "broken", isBodySent: bodySent, code: broken.code, failure: toTransportFailure(asked, broken) };
  }
  return {
    kind: "answered",
    status,
    retryAfterMs: tried.retryAfterMs,
    idempotencyKey: tried.headers["idempotency-key"],
    body: tried.bytes,
    isCut: error !== undefined || fault !== undefined,
    isBodySent: bodySent,
    failure: isSuccess(status) ? undefined : toStatusFailure(asked, { ...tried, status }),
  };
};

/** Calls an endpoint and checks its reply; repeats it if that is safe. @throws as `Client.send` */
export const send = async <P extends Schema, B extends Schema, R>(
  session: Session,
  endpoint: Endpoint<P, B, R>,
  { parameters, body: given, held: cached }: EndpointRequest<P, B>,
): Promise<Reply<R>> => {
  const { options, pausedUntilMs: pausedUntil, announcedReasons: announced } = session;
  const { host, maxWaitMs, trace } = options;
  const { signal } = host;
  const silenceMs = options.timeoutMs ?? maxReadSilenceMs;
  const target = findTarget(options, endpoint, parameters);
  const { origin } = target.route.to;
  const json: unknown = endpoint.body.parse(given);
  const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const patience = openRetryBudget(options);
  // If hardly any waiting is allowed, silence is still told from a reply that does not end.
  const endsMs = host.elapsed() + Math.max(maxWaitMs, 2 * silenceMs);
  let firstEndMs: number | undefined;
  let held = cached;
  for (let tries = 1; ; tries++) {
    for (let ms = 1; ms > 0; ) {
      ms = (pausedUntil.get(origin) ?? 0) - host.elapsed();
      if (ms > 0) await host.sleep(ms, signal);
    }
    const wholeMs = Math.max(1, endsMs - host.elapsed());
    const asked = { ...target, silenceMs, tries };
    const content = { body, headers: buildConditions(held), wholeMs, maxBytes: maxReplyBytes, signal };
    const tried = await tryRequest(session, asked, content);
    signal.throwIfAborted();
    if (isUnchanged(tried, held)) {
      const bytes = held.read();
      if (bytes !== undefined) return readReply(asked, endpoint, { ...tried, bytes });
      held = undefined;
      continue;
    }
    const { status, fault, retryAfterMs } = tried;
    const isRefused = status !== undefined && !isSuccess(status);
    const isWhole = status !== undefined && tried.error === undefined && fault !== "cut";
    if (!isRefused && isWhole) return readReply(asked, endpoint, tried);
    const error = transportErrorOf(tried);
    if (!isRefused && error.code === "TOO_LONG") throw replyTooLarge(asked, status, maxReplyBytes);
    // A status says more than how the reply ended.
    const failure = isRefused ? toStatusFailure(asked, { ...tried, status }) : toTransportFailure(asked, error, status);
    firstEndMs ??= host.elapsed();
    const isOverBudget = host.elapsed() - firstEndMs > maxWaitMs;
    const canRetry = isRefused ? isTransientStatus(status) : isRetryable(error, options.waitsForHost);
    if (!endpoint.repeatable || !canRetry || isOverBudget) throw failure;
    const why = isRefused ? String(status) : error.code;
    trace?.(`* ${why}: trying again, ${tries} so far`);
    // Of requests side by side that meet the same, one says so.
    if (tries === triesBeforeNotice && !announced.has(`${origin} ${why}`)) {
      announced.add(`${origin} ${why}`);
      options.onAgain?.(failure, maxWaitMs);
    }
    const askedMs = isRefused ? retryAfterMs : undefined;
    // If one is asked to wait, the others would only be told the same.
    if (askedMs !== undefined && askedMs <= maxWaitMs) {
      pausedUntil.set(origin, Math.max(pausedUntil.get(origin) ?? 0, host.elapsed() + askedMs));
    }
    if (!(await patience.wait(askedMs))) throw failure;
  }
};

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const transportErrorOf = ({ error }: TryResult): TransportError => error ?? new TransportError("CUT");

/** Reads a whole success. @throws Failure if it is not what the interface says */
const readReply = <R>(
  asked: RequestContext,
  { reply }: Pick<Endpoint<Schema, Schema, R>, "reply">,
  tried: TryResult,
): Reply<R> => {
  const { status = 0, fault } = tried;
  if (fault === "too-long") throw replyTooLarge(asked, status, maxReplyBytes);
  const bytes = tried.bytes.subarray(bomLength(tried.bytes));
  const unreadable = (at?: string) => invalidReply(asked, { status, bytes, fault, at });
  if (fault !== undefined) throw unreadable();
  const found = reply(bytes);
  if (found === undefined) throw unreadable();
  if ("wrongAt" in found) throw unreadable(found.wrongAt);
  return { status, value: found.value, bytes, validators: readValidators(tried.headers) };
};

const buildConditions = ({ validators: { etag, lastModified } = {} }: Partial<CachedReply> = {}) => ({
  ...(etag === undefined ? {} : { "If-None-Match": etag }),
  ...(lastModified === undefined ? {} : { "If-Modified-Since": lastModified }),
});

/** True if a reply says that what was asked for by its validators is unchanged. A 304 to anything else is none. */
const isUnchanged = ({ status, error }: TryResult, held: CachedReply | undefined): held is CachedReply =>
  status === 304 && error === undefined && held !== undefined && Object.keys(held.validators).length > 0;

const readValidators = ({ etag = "", "last-modified": lastModified = "" }: TryResult["headers"]): Validators => ({
  ...(/^(W\/)?"[^"]*"$/.test(etag) && isHeaderValue(etag) ? { etag } : {}),
  ...(isHeaderValue(lastModified) ? { lastModified } : {}),
});

/** Decodes a body by its `RequestContent-Encoding`, to at most `limit` bytes. Services compress once. */
const decodeBody = async (
  bytes: Uint8Array,
  encoding: string,
  limit: number,
): Promise<Pick<TryResult, "bytes" | "fault">> => {
  const name = encoding.trim().toLowerCase();
  if (bytes.length === 0 || name === "" || name === "identity") return { bytes, fault: undefined };
  if (!/^(br|deflate|(x-)?gzip)$/.test(name)) return { bytes, fault: "unknown-encoding" };
  const { brotliDecompress, unzip } = await import("node:zlib");
  try {
    const decompress = name === "br" ? promisify(brotliDecompress) : promisify(unzip);
    return { bytes: await decompress(bytes, { maxOutputLength: limit }), fault: undefined };
  } catch (thrown) {
    const fault = getErrorCode(thrown) === "ERR_BUFFER_TOO_LARGE" ? "too-long" : "cut";
    return { bytes: Buffer.alloc(0), fault };
  }
};

/** How long a service asks to wait, in milliseconds, seconds or until a date (RFC 9110, 10.2.3). */
export const parseRetryAfter = (headers: ExchangeResult["headers"], now: number): number | undefined => {
  const [exact = "", text = ""] = [headers["retry-after-ms"], headers["retry-after"]].map((value) => value?.trim());
  const isNumber = /^\d{1,12}(\.\d+)?$/;
  if (isNumber.test(exact)) return Number(exact);
  if (isNumber.test(text)) return Number(text) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

/** Each wait is random, up to a limit that doubles from the first to the largest. */
const firstWaitMs = 500;
const maxSingleWaitMs = 30_000;
/** No wait is shorter, so that chance can't make a loop without pause. */
const minWaitMs = 50;

/** Limits the waits of one run. */
export const openRetryBudget = ({ host, maxWaitMs }: Pick<ClientOptions, "host" | "maxWaitMs">): RetryBudget => {
  let left = maxWaitMs;
  let tries = 0;
  return {
    async wait(askedMs, onWait) {
      const own = Math.max(minWaitMs, host.random() * Math.min(maxSingleWaitMs, firstWaitMs * 2 ** tries));
      // What a service asks for is the least: one that asks for nothing, again and again, is not hammered.
      const ms = Math.max(askedMs ?? 0, Math.min(own, left));
      if (left <= 0 || ms > left) return false;
      tries++;
      left -= ms;
      onWait?.();
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};
