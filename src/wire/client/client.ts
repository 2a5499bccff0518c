/** Sends requests to the service, and retries reads. */

import type { Failure } from "../../failure.ts";
import { bomLength } from "../../json/json-bytes.ts";
import type { Credential, Endpoint, PathValues } from "../contract/endpoint.ts";
import { buildHeaders, findCredential, findTarget, toShownHeaders, traceRequest } from "./build-request.ts";
import type { Connections } from "./connections.ts";
import * as exchanges from "./exchange.ts";
import * as failures from "./failures.ts";
import { decodeBody, isWebPage } from "./reply-body.ts";
import { isQuotaUsedUp } from "./reply-message.ts";
import type { ClientOptions, Retry } from "./request-options.ts";
import * as retries from "./retry.ts";
import { isRetryable } from "./transport-error.ts";

/** The service computes metrics before it answers a log request. */
const logSilenceMs = 300_000;

/** Enough for the call ids of a million trajectories. */
const maxLogReplyBytes = 64 * 1024 * 1024;

interface RequestContent
  extends Pick<exchanges.OutgoingRequest, "body" | "totalMs" | "connectMs" | "signal" | "maxReplyLength"> {
  headers?: Readonly<Record<string, string>>;
}

type StreamedRequest<Path extends string> = Readonly<{
  parameters: PathValues<Path>;
  body: exchanges.StreamedBody;
  headers?: Readonly<Record<string, string>>;
  /** The time since the end of the first attempt. */
  sinceFirstAttemptMs?: number;
  signal?: AbortSignal;
}>;

type PlainRequest<Path extends string, Body> = Readonly<{ parameters: PathValues<Path>; body: Body }>;

/** A retry may log the groups again (guarantees.md). */
export type Attempt =
  | Answer
  /** The reply has no status. `code` is the code of a transport error. */
  | Readonly<{ kind: "broken"; isBodySent: boolean; code: string; failure: Failure }>;

export interface Answer extends Omit<failures.AttemptResult, "credential" | "error"> {
  readonly kind: "answered";
  readonly status: number;
  /** True if the body is incomplete or cannot be decompressed. */
  readonly isCut: boolean;
  readonly failure: Failure | undefined;
}

export interface Client {
  send<Path extends string, Body, Reply>(
    endpoint: Endpoint<Path, Body, Reply>,
    request: PlainRequest<Path, Body>,
  ): Promise<Readonly<{ value: Reply; bytes: Uint8Array }>>;
  /** @throws Failure of the URL or the credential; errors of `body.chunks` */
  attempt<Path extends string>(endpoint: Endpoint<Path>, request: StreamedRequest<Path>): Promise<Attempt>;
  describeRequest<Path extends string>(
    endpoint: Endpoint<Path>,
    request: Pick<StreamedRequest<Path>, "parameters" | "headers">,
  ): { method: string; url: string; headers: readonly string[] };
  retryBudget(): retries.RetryBudget;
  close(): Promise<void>;
}

/** Opens no connection and asks for no credential before the first request. */
export const openClient = (options: ClientOptions): Client => {
  const session: Session = { options, connections: undefined };
  const announceRetry = retries.openRetryNotices(options.onRetry);
  return {
    send: async (endpoint, request) => await send(session, { endpoint, announceRetry, ...request }),
    attempt: async (endpoint, request) => await attempt(session, endpoint, request),
    describeRequest(endpoint, { parameters, headers: own }) {
      const { url } = findTarget(options, endpoint, parameters);
      const credential = endpoint.use && { secret: "-", from: "" };
      const headers = buildHeaders(options, endpoint, { credential, own });
      return { method: endpoint.method, url, headers: toShownHeaders(headers, options.project?.header) };
    },
    retryBudget: () => retries.openRetryBudget(options),
    close: async () => (await session.connections)?.close(),
  };
};

interface Session {
  readonly options: ClientOptions;
  connections: Promise<Connections> | undefined;
}

const attemptOnce = async (
  session: Session,
  { endpoint, path, url, route, silenceMs }: failures.RequestContext,
  { headers: own, credential, ...content }: RequestContent & { credential: Credential | undefined },
): Promise<failures.AttemptResult> => {
  const { options } = session;
  const { method } = endpoint;
  const headers = buildHeaders(options, endpoint, { credential, own });
  const traceReply = traceRequest(options, { method, url, headers, projectHeader: options.project?.header });
  session.connections ??= import("./connections.ts").then(({ Connections }) => new Connections());
  // A log request opens a new connection, because a reused one that the service closed leaves the outcome unknown.
  const connection = await (await session.connections).open(route, !exchanges.isStreamed(content.body));
  const reply = await exchanges.runExchange(connection, { method, route, path, headers, silenceMs, ...content });
  traceReply(reply, reply.bytes.length);
  const decoded = await decodeBody(reply, content.maxReplyLength);
  return {
    ...decoded,
    ...retries.parseRetryAfter(reply.headers, options.host.now()),
    isWebPage: isWebPage(decoded) || (decoded.error !== undefined && isWebPage(reply)),
    credential,
  };
};

const attemptWithCredential = async (session: Session, context: failures.RequestContext, content: RequestContent) => {
  const credential = await findCredential(session.options, context);
  const tried = await attemptOnce(session, context, { ...content, credential });
  if (tried.status !== 401 || !credential || content.signal.aborted) return tried;
  const another = await findCredential(session.options, context, credential);
  return another ? await attemptOnce(session, context, { ...content, credential: another }) : tried;
};

const send = async <Path extends string, Body, Reply>(
  session: Session,
  request: PlainRequest<Path, Body> & {
    endpoint: Endpoint<Path, Body, Reply>;
    announceRetry: (reason: string, retry: Retry) => void;
  },
) => {
  const { endpoint } = request;
  const { host, trace, timeoutMs: silenceMs = retries.readSilenceMs } = session.options;
  const target = findTarget(session.options, endpoint, request.parameters);
  const json = endpoint.toJson?.(request.body);
  const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const budget = retries.openReadBudget(session.options, silenceMs);
  for (let attempts = 1; ; attempts++) {
    const context = { ...target, silenceMs, attempts };
    const content = { body, ...budget.limits(), maxReplyLength: exchanges.maxReplyBytes, signal: host.signal };
    const tried = await attemptWithCredential(session, context, content);
    host.signal.throwIfAborted();
    if (isSuccess(tried.status) && !tried.error)
      return readReply(endpoint, context, { ...tried, status: tried.status });
    const failure = failures.toReplyFailure(context, tried);
    const retry = endpoint.repeatable ? findRetry(tried, session.options) : undefined;
    const onWait = (next: Retry) => {
      trace?.(`* ${retry?.reason}: trying again after attempt ${attempts}`);
      request.announceRetry(failure.message, next);
    };
    if (!retry || !(await budget.wait(retry.minMs, { attempt: attempts + 1, onWait }))) throw failure;
  }
};

/** Returns undefined if a retry does not help. */
const findRetry = ({ status, bytes, error, retryAfterMs }: failures.AttemptResult, { waitsForHost }: ClientOptions) => {
  if (status !== undefined && !isSuccess(status)) {
    const isRetried = retries.isTransientStatus(status) && !isQuotaUsedUp(status, bytes);
    return isRetried ? { reason: status, minMs: retryAfterMs } : undefined;
  }
  return error && isRetryable(error, waitsForHost) ? { reason: error.code, minMs: undefined } : undefined;
};

const readReply = <Path extends string, Body, Reply>(
  endpoint: Endpoint<Path, Body, Reply>,
  context: failures.RequestContext,
  reply: failures.AttemptResult & { status: number },
) => {
  const bytes = reply.bytes.subarray(bomLength(reply.bytes));
  const parsed = endpoint.reply(bytes, reply.headers);
  if (parsed && "value" in parsed) return { value: parsed.value, bytes: parsed.json ?? bytes };
  throw failures.invalidReply(context, { ...reply, bytes, invalidPath: parsed?.invalidPath });
};

const attempt = async <Path extends string>(
  session: Session,
  endpoint: Endpoint<Path>,
  request: StreamedRequest<Path>,
): Promise<Attempt> => {
  const { host, maxWaitMs, timeoutMs: silenceMs = logSilenceMs } = session.options;
  const { body, headers = {}, sinceFirstAttemptMs = 0, signal = host.signal } = request;
  const encoding = headers["Content-Encoding"];
  const target = findTarget(session.options, endpoint, request.parameters);
  const context = { ...target, silenceMs, attempts: 1, encoding };
  const limits = { totalMs: retries.replyTimeoutFactor * silenceMs, connectMs: maxWaitMs - sinceFirstAttemptMs };
  const content = { body, headers, ...limits, maxReplyLength: maxLogReplyBytes, signal };
  const tried = await attemptWithCredential(session, context, content);
  const { credential: _, error, ...reply } = tried;
  const { status, isBodySent, isWebPage } = reply;
  const answer = { kind: "answered", ...reply, isCut: error !== undefined } as const;
  if (isSuccess(status)) {
    const failure = isWebPage ? failures.invalidReply(context, { ...reply, status }) : undefined;
    return { ...answer, status, failure };
  }
  const failure = failures.toReplyFailure(context, tried);
  if (status !== undefined) return { ...answer, status, failure };
  return { kind: "broken", isBodySent, code: error?.code ?? "CUT", failure };
};

const isSuccess = (status?: number): status is number => status !== undefined && status >= 200 && status < 300;
