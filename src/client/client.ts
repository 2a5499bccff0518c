/** Sends requests to the service, and retries reads. */
import { promisify } from "node:util";
import type { Credential, Endpoint, Schema, SchemaInput } from "../contract/endpoint.ts";
import { getErrorCode } from "../files.ts";
import { bomLength } from "../json/json-bytes.ts";
import type { Connections } from "./connections.ts";
import * as exchanges from "./exchange.ts";
import * as failures from "./failures.ts";
import type { Attempt, ClientOptions, Reply, Retry, StreamedBody } from "./index.ts";
import { buildHeaders, findCredential, findTarget, toShownHeaders, traceRequest } from "./request.ts";

/** Default of `--timeout` for a read (guarantees.md). */
export const readSilenceMs = 30_000;
/** The service computes metrics before it answers a log request. */
const logSilenceMs = 300_000;

/** The time limit for a reply, in multiples of `--timeout`. */
const replyTimeoutFactor = 2;

/** Enough for the call ids of a million trajectories. */
const maxLogReplyBytes = 64 * 1024 * 1024;

export const openRetryNotices = (onRetry: ClientOptions["onRetry"]) => {
  const announced = new Set<string>();
  return (reason: string, retry: Retry) => {
    const key = `${retry.attempt} ${reason}`;
    if ((retry.attempt <= 3 && retry.waitMs < 1000) || announced.has(key)) return;
    announced.add(key);
    onRetry?.(reason, retry);
  };
};

interface RequestContent
  extends Pick<exchanges.OutgoingRequest, "body" | "totalMs" | "connectMs" | "signal" | "maxReplyLength"> {
  headers?: Readonly<Record<string, string>>;
}

export interface AttemptResult extends exchanges.ExchangeResult {
  retryAfterMs: number | undefined;
  credential: Credential | undefined;
}

type StreamedRequest<P extends Schema> = Readonly<{
  parameters: SchemaInput<P>;
  body: StreamedBody;
  headers?: Readonly<Record<string, string>>;
  /** The time since the end of the first attempt. */
  sinceFirstAttemptMs?: number;
  signal?: AbortSignal;
}>;

export type Client = ReturnType<typeof openClient>;

/** Opens no connection and asks for no credential before the first request. */
export const openClient = (options: ClientOptions) => {
  const { host, maxWaitMs, trace, project } = options;
  const announceRetry = openRetryNotices(options.onRetry);
  let connections: Promise<Connections> | undefined;

  const attemptOnce = async (
    { endpoint, path, url, route, silenceMs }: failures.RequestContext,
    { headers: own, ...content }: RequestContent,
    credential: Credential | undefined,
  ): Promise<AttemptResult> => {
    const { method } = endpoint;
    const headers = buildHeaders(options, endpoint, { credential, own });
    const traceReply = traceRequest(options, { method, url, headers, projectHeader: project?.header });
    connections ??= import("./connections.ts").then(({ openConnections }) => openConnections());
    // A log request opens a new connection, because a reused one that the service closed leaves the outcome unknown.
    const connection = await (await connections).open(route, !exchanges.isStreamed(content.body));
    const reply = await exchanges.runExchange(connection, { method, route, path, headers, silenceMs, ...content });
    traceReply(reply, reply.bytes.length);
    const retryAfterMs = parseRetryAfterMs(reply.headers, host.now());
    return { ...(await decodeBody(reply, content.maxReplyLength)), retryAfterMs, credential };
  };

  const attemptWithCredential = async (
    context: failures.RequestContext,
    content: RequestContent,
  ): Promise<AttemptResult> => {
    const credential = await findCredential(options, context);
    const tried = await attemptOnce(context, content, credential);
    if (tried.status !== 401 || !credential || content.signal.aborted) return tried;
    const another = await findCredential(options, context, credential);
    return another ? await attemptOnce(context, content, another) : tried;
  };

  const send = async <P extends Schema, B extends Schema, R>(
    endpoint: Endpoint<P, B, R>,
    request: { parameters: SchemaInput<P>; body: SchemaInput<B> },
  ): Promise<Reply<R>> => {
    const { signal } = host;
    const silenceMs = options.timeoutMs ?? readSilenceMs;
    const target = findTarget(options, endpoint, request.parameters);
    const json: unknown = endpoint.body.parse(request.body);
    const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    const budget = openReadBudget(options, silenceMs);
    for (let attempts = 1; ; attempts++) {
      const context = { ...target, silenceMs, attempts };
      const content = { body, ...budget.limits(), maxReplyLength: exchanges.maxReplyBytes, signal };
      const tried = await attemptWithCredential(context, content);
      signal.throwIfAborted();
      const { status, error } = tried;
      if (isSuccess(status) && !error) {
        const bytes = tried.bytes.subarray(bomLength(tried.bytes));
        const parsed = endpoint.reply(bytes, tried.headers);
        if (parsed && "value" in parsed) return { value: parsed.value, bytes: parsed.json ?? bytes };
        throw failures.invalidReply(context, { status, bytes, invalidPath: parsed?.invalidPath });
      }
      const failure = failures.toReplyFailure(context, tried);
      const isRefused = status !== undefined && !isSuccess(status);
      const canRetry = isRefused
        ? failures.isTransientStatus(status) && !failures.isQuotaUsedUp(status, tried.bytes)
        : error && exchanges.isRetryable(error, options.waitsForHost);
      if (!endpoint.repeatable || !canRetry) throw failure;
      const minMs = isRefused ? tried.retryAfterMs : undefined;
      const onWait = (retry: Retry) => {
        trace?.(`* ${isRefused ? status : error?.code}: trying again after attempt ${attempts}`);
        announceRetry(failure.message, retry);
      };
      if (!(await budget.wait(minMs, { attempt: attempts + 1, onWait }))) throw failure;
    }
  };

  /** @throws Failure of the URL or the credential; errors of `body.chunks` */
  const attempt = async <P extends Schema>(
    endpoint: Endpoint<P>,
    { parameters, body, headers = {}, sinceFirstAttemptMs = 0, signal = host.signal }: StreamedRequest<P>,
  ): Promise<Attempt> => {
    const silenceMs = options.timeoutMs ?? logSilenceMs;
    const encoding = headers["Content-Encoding"];
    const context = { ...findTarget(options, endpoint, parameters), silenceMs, attempts: 1, encoding };
    const limits = { totalMs: replyTimeoutFactor * silenceMs, connectMs: maxWaitMs - sinceFirstAttemptMs };
    const tried = await attemptWithCredential(context, {
      body,
      headers,
      ...limits,
      maxReplyLength: maxLogReplyBytes,
      signal,
    });
    const { status, isBodySent, error, retryAfterMs, bytes } = tried;
    const toFailure = () => failures.toReplyFailure(context, tried);
    if (status === undefined) return { kind: "broken", isBodySent, code: error?.code ?? "CUT", failure: toFailure() };
    const failure = isSuccess(status) ? undefined : toFailure();
    const { "idempotency-key": idempotencyKey, "retry-after": retryAfter } = tried.headers;
    const answer = { status, retryAfterMs, idempotencyKey, body: bytes, isBodySent, failure };
    return { kind: "answered", ...answer, hasRetryAfter: retryAfter !== undefined, isCut: error !== undefined };
  };

  return {
    send,
    attempt,
    describeRequest: <P extends Schema>(
      endpoint: Endpoint<P>,
      { parameters, headers: own }: Pick<StreamedRequest<P>, "parameters" | "headers">,
    ) => {
      const { url } = findTarget(options, endpoint, parameters);
      const credential = endpoint.use && { secret: "-", from: "" };
      const headers = buildHeaders(options, endpoint, { credential, own });
      return { method: endpoint.method, url, headers: toShownHeaders(headers, project?.header) };
    },
    retryBudget: () => openRetryBudget(options),
    close: async () => (await connections)?.close(),
  };
};

const isSuccess = (status?: number): status is number => status !== undefined && status >= 200 && status < 300;

const decodeBody = async (reply: exchanges.ExchangeResult, maxReplyLength: number) => {
  const { bytes, error, headers } = reply;
  const encoding = (headers["content-encoding"] ?? "").trim().toLowerCase();
  if (bytes.length === 0 || encoding === "" || encoding === "identity") return reply;
  const toError = (code: string) => error ?? new exchanges.TransportError(code);
  if (!/^(br|deflate|(x-)?gzip)$/.test(encoding)) return { ...reply, error: toError("UNKNOWN_ENCODING") };
  const { brotliDecompress, unzip } = await import("node:zlib");
  try {
    const decompress = encoding === "br" ? promisify(brotliDecompress) : promisify(unzip);
    return { ...reply, bytes: await decompress(bytes, { maxOutputLength: maxReplyLength }) };
  } catch (thrown) {
    const isTooLong = getErrorCode(thrown) === "ERR_BUFFER_TOO_LARGE";
    return { ...reply, bytes: Buffer.alloc(0), error: toError(isTooLong ? "TOO_LONG" : "CUT") };
  }
};

/** `Retry-After` contains seconds or a date (RFC 9110, 10.2.3). */
export const parseRetryAfterMs = (headers: exchanges.ReplyHeaders, now: number) => {
  const [msText = "", text = ""] = [headers["retry-after-ms"], headers["retry-after"]].map((value) => value?.trim());
  const isNumber = /^\d{1,12}(\.\d+)?$/;
  if (isNumber.test(msText)) return Number(msText);
  if (isNumber.test(text)) return Number(text) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

const firstWaitMs = 500;
const maxSingleWaitMs = 30_000;
const minWaitMs = 50;

export type RetryBudget = ReturnType<typeof openRetryBudget>;

type WaitOptions = Pick<ClientOptions, "host" | "maxWaitMs" | "retries">;

export const openReadBudget = (options: WaitOptions, silenceMs: number) => {
  const { host, maxWaitMs } = options;
  const endMs = host.elapsed() + maxWaitMs;
  const { wait } = openRetryBudget(options);
  return {
    limits() {
      const connectMs = endMs - host.elapsed();
      // `--max-wait 0s` still allows one attempt.
      return { connectMs, totalMs: maxWaitMs === 0 ? replyTimeoutFactor * silenceMs : Math.max(1, connectMs) };
    },
    wait: async (...given: Parameters<typeof wait>) => host.elapsed() <= endMs && (await wait(...given)),
  };
};

const openRetryBudget = ({ host, maxWaitMs, retries = true }: WaitOptions) => {
  let leftMs = retries ? maxWaitMs : 0;
  let waits = 0;
  return {
    async wait(minMs = 0, next?: { attempt: number; onWait: (retry: Retry) => void }) {
      const randomMs = Math.max(minWaitMs, host.random() * Math.min(maxSingleWaitMs, firstWaitMs * 2 ** waits));
      const ms = Math.max(minMs, Math.min(randomMs, leftMs));
      if (leftMs <= 0 || ms > leftMs) return false;
      waits++;
      leftMs -= ms;
      next?.onWait({ attempt: next.attempt, waitMs: ms, leftMs });
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};
