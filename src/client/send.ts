/** Calls an endpoint: a read with retries, a log once. */
import { promisify } from "node:util";
import type { Credential, Endpoint, Schema } from "../contract/endpoint.ts";
import { getErrorCode } from "../files.ts";
import { bomLength } from "../json/walk.ts";
import type { Connections } from "./connections.ts";
import * as exchanges from "./exchange.ts";
import * as failures from "./failures.ts";
import type { Attempt, ClientOptions, EndpointRequest, Reply, RetryWait, StreamedRequest } from "./index.ts";
import { buildHeaders, findCredential, findTarget, traceRequest } from "./request.ts";

export interface Session {
  readonly options: ClientOptions;
  readonly connections: () => Promise<Connections>;
  readonly announcedReasons: Set<string>;
}

/** Longest silence of a read, and of a log, which is longer because the service computes metrics (guarantees.md). */
export const readSilenceMs = 30_000;
const logSilenceMs = 300_000;

/** Limit for the reply to a log after the last piece of the body, as a multiple of the longest silence. */
const maxReplySilences = 2;

/** The largest reply to a log: the call ids of a million trajectories, or a refusal that echoes a request. */
const maxLogReplyBytes = 64 * 1024 * 1024;

/** The largest decoded reply to a read: 1,000 times as large as today's lists, and half of V8's longest string. */
const maxReplyBytes = 256 * 1024 * 1024;

/** Tries before a retry is announced. Earlier waits end before anyone can read a notice. */
export const triesBeforeNotice = 3;

interface RequestContent extends Pick<exchanges.OutgoingRequest, "body" | "totalMs" | "signal" | "maxBytes"> {
  readonly headers?: Readonly<Record<string, string>>;
}

interface TryResult extends exchanges.ExchangeResult {
  readonly fault: "cut" | "too-long" | "unknown-encoding" | undefined;
  readonly retryAfterMs: number | undefined;
  readonly credential: Credential | undefined;
}

/** Tries a request, and once more after a 401 if there is another credential. A 401 means that nothing was done. */
const tryRequest = async (
  session: Session,
  context: failures.RequestContext,
  content: RequestContent,
): Promise<TryResult> => {
  const credential = await findCredential(session.options, context);
  const tried = await tryOnce(session, context, { ...content, credential });
  if (tried.status !== 401 || credential === undefined || content.signal.aborted) return tried;
  const another = await findCredential(session.options, context, credential);
  return another === undefined ? tried : await tryOnce(session, context, { ...content, credential: another });
};

const tryOnce = async (
  { options, connections }: Session,
  { endpoint, path, url, route, silenceMs }: failures.RequestContext,
  { credential, headers: own, ...content }: RequestContent & Pick<TryResult, "credential">,
): Promise<TryResult> => {
  const { method } = endpoint;
  const headers = buildHeaders(options, endpoint, { credential, own });
  const traceReply = traceRequest(options, { method, url, headers, project: options.project?.header });
  const opened = await connections();
  // If the other side closes an idle connection while a log is sent, the outcome of the log is unknown.
  const connection = await (exchanges.isStreamed(content.body) ? opened.open(route) : opened.reuse(route));
  const reply = await exchanges.runExchange(connection, { method, route, path, headers, silenceMs, ...content });
  traceReply(reply, reply.bytes.length);
  const decoded = await decodeBody(reply.bytes, reply.headers["content-encoding"] ?? "", content.maxBytes);
  return { ...reply, ...decoded, retryAfterMs: parseRetryAfter(reply.headers, options.host.now()), credential };
};

/** Tries a streamed request once. @throws Failure before anything is sent; what the body throws */
export const attemptOnce = async <P extends Schema>(
  session: Session,
  endpoint: Endpoint<P>,
  { parameters, body, headers = {}, signal = session.options.host.signal }: StreamedRequest<P>,
): Promise<Attempt> => {
  const silenceMs = session.options.timeoutMs ?? logSilenceMs;
  const encoding = headers["Content-Encoding"];
  const context = { ...findTarget(session.options, endpoint, parameters), silenceMs, tries: 1, encoding };
  const content = { body, headers, totalMs: maxReplySilences * silenceMs, maxBytes: maxLogReplyBytes, signal };
  const tried = await tryRequest(session, context, content);
  const { status, isBodySent, error, fault, retryAfterMs, bytes } = tried;
  if (status === undefined) {
    const broken = errorOf(tried);
    return { kind: "broken", isBodySent, code: broken.code, failure: failures.toTransportFailure(context, broken) };
  }
  const idempotencyKey = tried.headers["idempotency-key"];
  const isCut = error !== undefined || fault !== undefined;
  const failure = isSuccess(status) ? undefined : failures.toStatusFailure(context, { ...tried, status });
  return { kind: "answered", status, retryAfterMs, idempotencyKey, body: bytes, isCut, isBodySent, failure };
};

/** Calls an endpoint, repeatedly within `--max-wait` if it is repeatable, and checks its reply. @throws Failure */
export const send = async <P extends Schema, B extends Schema, R>(
  session: Session,
  endpoint: Endpoint<P, B, R>,
  request: EndpointRequest<P, B>,
): Promise<Reply<R>> => {
  const { options, announcedReasons } = session;
  const { host, maxWaitMs, trace } = options;
  const { signal } = host;
  const silenceMs = options.timeoutMs ?? readSilenceMs;
  const target = findTarget(options, endpoint, request.parameters);
  const { origin } = target.route.to;
  const json: unknown = endpoint.body.parse(request.body);
  const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const budget = openRetryBudget(options);
  // With a short --max-wait, silence must still be reported before the end of the total time.
  const endMs = host.elapsed() + Math.max(maxWaitMs, 2 * silenceMs);
  let firstEndMs: number | undefined;
  for (let tries = 1; ; tries++) {
    const totalMs = Math.max(1, endMs - host.elapsed());
    const context = { ...target, silenceMs, tries };
    const content = { body, totalMs, maxBytes: maxReplyBytes, signal };
    const tried = await tryRequest(session, context, content);
    signal.throwIfAborted();
    const { status, fault, retryAfterMs } = tried;
    const isRefused = status !== undefined && !isSuccess(status);
    const isComplete = status !== undefined && tried.error === undefined && fault !== "cut";
    if (!isRefused && isComplete) return readReply(context, endpoint, tried);
    const error = errorOf(tried);
    if (!isRefused && error.code === "TOO_LONG") throw failures.replyTooLarge(context, status, maxReplyBytes);
    const failure = isRefused
      ? failures.toStatusFailure(context, { ...tried, status })
      : failures.toTransportFailure(context, error, status);
    firstEndMs ??= host.elapsed();
    const isOverBudget = host.elapsed() - firstEndMs > maxWaitMs;
    const canRetry = isRefused
      ? failures.isTransientStatus(status)
      : exchanges.isRetryable(error, options.waitsForHost);
    if (!endpoint.repeatable || !canRetry || isOverBudget) throw failure;
    const reason = isRefused ? String(status) : error.code;
    trace?.(`* ${reason}: trying again, ${tries} so far`);
    if (tries === triesBeforeNotice && !announcedReasons.has(`${origin} ${reason}`)) {
      announcedReasons.add(`${origin} ${reason}`);
      options.onRetry?.(failure, maxWaitMs);
    }
    if (!(await budget.wait(isRefused ? retryAfterMs : undefined))) throw failure;
  }
};

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const errorOf = ({ error }: TryResult): exchanges.TransportError => error ?? new exchanges.TransportError("CUT");

const readReply = <R>(
  context: failures.RequestContext,
  { reply }: Pick<Endpoint<Schema, Schema, R>, "reply">,
  tried: TryResult,
): Reply<R> => {
  const { status = 0, fault } = tried;
  if (fault === "too-long") throw failures.replyTooLarge(context, status, maxReplyBytes);
  const bytes = tried.bytes.subarray(bomLength(tried.bytes));
  const found = fault === undefined ? reply(bytes) : undefined;
  if (found !== undefined && "value" in found) return { value: found.value, bytes };
  throw failures.invalidReply(context, { status, bytes, fault, at: found?.invalidPath });
};

const decodeBody = async (
  bytes: Uint8Array,
  encoding: string,
  maxBytes: number,
): Promise<Pick<TryResult, "bytes" | "fault">> => {
  const name = encoding.trim().toLowerCase();
  if (bytes.length === 0 || name === "" || name === "identity") return { bytes, fault: undefined };
  if (!/^(br|deflate|(x-)?gzip)$/.test(name)) return { bytes, fault: "unknown-encoding" };
  const { brotliDecompress, unzip } = await import("node:zlib");
  try {
    const decompress = name === "br" ? promisify(brotliDecompress) : promisify(unzip);
    return { bytes: await decompress(bytes, { maxOutputLength: maxBytes }), fault: undefined };
  } catch (thrown) {
    const fault = getErrorCode(thrown) === "ERR_BUFFER_TOO_LARGE" ? "too-long" : "cut";
    return { bytes: Buffer.alloc(0), fault };
  }
};

/** Returns the wait that a service asks for: milliseconds, seconds or a date (RFC 9110, 10.2.3). */
export const parseRetryAfter = (headers: exchanges.ExchangeResult["headers"], now: number): number | undefined => {
  const [exact = "", text = ""] = [headers["retry-after-ms"], headers["retry-after"]].map((value) => value?.trim());
  const isNumber = /^\d{1,12}(\.\d+)?$/;
  if (isNumber.test(exact)) return Number(exact);
  if (isNumber.test(text)) return Number(text) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

/** Each wait is random, from a minimum to a limit that doubles up to a maximum. */
const firstWaitMs = 500;
const maxSingleWaitMs = 30_000;
const minWaitMs = 50;

export type RetryBudget = ReturnType<typeof openRetryBudget>;

export const openRetryBudget = ({ host, maxWaitMs }: Pick<ClientOptions, "host" | "maxWaitMs">) => {
  let leftMs = maxWaitMs;
  let tries = 0;
  return {
    /** Waits with exponential backoff and full jitter. Returns false if the budget does not allow `minMs`. */
    async wait(minMs = 0, onWait?: (wait: RetryWait) => void): Promise<boolean> {
      const randomMs = Math.max(minWaitMs, host.random() * Math.min(maxSingleWaitMs, firstWaitMs * 2 ** tries));
      const ms = Math.max(minMs, Math.min(randomMs, leftMs));
      if (leftMs <= 0 || ms > leftMs) return false;
      tries++;
      leftMs -= ms;
      onWait?.({ waitMs: ms, leftMs });
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};
