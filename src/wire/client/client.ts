/** Sends requests to the service, and retries reads. */

import type { Failure } from "../../failure.ts";
import { bomLength } from "../../json/json-bytes.ts";
import type { JsonValue } from "../../json/table.ts";
import type { Endpoint, PathValues } from "../contract/endpoint.ts";
import type { ClientOptions, Retry } from "./build-request.ts";
import { buildHeaders, findTarget, toShownHeaders, traceRequest } from "./build-request.ts";
import type { Connections } from "./connections.ts";
import * as exchanges from "./exchange.ts";
import * as failures from "./failures.ts";
import { decodeBody, findStatedError, isWebPage, readReplyJson } from "./reply-body.ts";
import * as retries from "./retry.ts";

/** The service computes metrics before it answers a log request. */
const logSilenceMs = 300_000;

/** Enough for the call ids of a million trajectories. */
const maxLogReplyBytes = 64 * 1024 * 1024;

/** Each part of the request has a status (RFC 4918, 13). */
const multiStatus = 207;

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
  /** The body of a success status; undefined if it is not JSON. */
  readonly json?: JsonValue | undefined;
  /** With a success status, the answer is a web page, or says that not all is logged. */
  readonly failure: Failure | undefined;
}

/** Opens no connection and asks for no credential before the first request. */
export class ServiceClient {
  readonly #options: ClientOptions;
  readonly #announceRetry: ReturnType<typeof retries.openRetryNotices>;
  #connections: Promise<Connections> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#announceRetry = retries.openRetryNotices(options.onRetry);
  }

  describeRequest<Path extends string>(endpoint: Endpoint<Path>, parameters: PathValues<Path>) {
    const { url } = findTarget(this.#options, endpoint, parameters);
    const credential = endpoint.use && { secret: "-", from: "" };
    const headers = buildHeaders(this.#options, endpoint, { credential });
    return { method: endpoint.method, url, headers: toShownHeaders(headers, this.#options.project?.header) };
  }

  retryBudget(): retries.RetryBudget {
    return retries.openRetryBudget(this.#options);
  }

  async close() {
    (await this.#connections)?.close();
  }

  async send<Path extends string, Body, Reply>(
    endpoint: Endpoint<Path, Body, Reply>,
    request: Readonly<{ parameters: PathValues<Path>; body: Body }>,
  ): Promise<Reply> {
    const { host, trace, timeoutMs: silenceMs = retries.readSilenceMs } = this.#options;
    const target = findTarget(this.#options, endpoint, request.parameters);
    const json = endpoint.toJson?.(request.body);
    const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    const budget = retries.openReadBudget(this.#options, silenceMs);
    for (let attempts = 1; ; attempts++) {
      const context = { ...target, silenceMs, attempts };
      const content = { body, ...budget.limits(), maxReplyLength: exchanges.maxReplyBytes, signal: host.signal };
      const tried = await this.#attemptOnce(context, content);
      host.signal.throwIfAborted();
      if (retries.isSuccess(tried.status) && !tried.error)
        return readReply(endpoint, context, { ...tried, status: tried.status });
      const failure = failures.toReplyFailure(context, tried);
      const retry = endpoint.repeatable ? retries.findRetry(tried, this.#options) : undefined;
      const onWait = (next: Retry) => {
        trace?.(`* ${retry?.reason}: trying again after attempt ${attempts}`);
        this.#announceRetry(failure.message, next);
      };
      if (!retry || !(await budget.wait(retry.minMs, { attempt: attempts + 1, onWait }))) throw failure;
    }
  }

  /** @throws Failure of the URL or the credential; errors of `body.chunks` */
  async attempt<Path extends string>(endpoint: Endpoint<Path>, request: StreamedRequest<Path>): Promise<Attempt> {
    const { host, maxWaitMs, timeoutMs: silenceMs = logSilenceMs } = this.#options;
    const { body, headers = {}, sinceFirstAttemptMs = 0, signal = host.signal } = request;
    const context = { ...findTarget(this.#options, endpoint, request.parameters), silenceMs, attempts: 1 };
    const limits = { totalMs: retries.replyTimeoutFactor * silenceMs, connectMs: maxWaitMs - sinceFirstAttemptMs };
    const content = { body, headers, ...limits, maxReplyLength: maxLogReplyBytes, signal };
    const tried = await this.#attemptOnce(context, content);
    const { credential: _, error, ...reply } = tried;
    const { status, isBodySent, isWebPage } = reply;
    const bytes = reply.bytes.subarray(bomLength(reply.bytes));
    const answer = { kind: "answered", ...reply, bytes, isCut: error !== undefined } as const;
    if (retries.isSuccess(status)) {
      const json = error ? undefined : readReplyJson(bytes);
      const isFailed = isWebPage || status === multiStatus || findStatedError(json) !== undefined;
      const failure = isFailed ? failures.invalidReply(context, { ...reply, bytes, status }) : undefined;
      return { ...answer, status, json, failure };
    }
    const failure = failures.toReplyFailure(context, tried);
    if (status !== undefined) return { ...answer, status, failure };
    return { kind: "broken", isBodySent, code: error?.code ?? "CUT", failure };
  }

  async #attemptOnce(
    { endpoint, path, url, route, silenceMs }: failures.RequestContext,
    { headers: own, ...content }: RequestContent,
  ): Promise<failures.AttemptResult> {
    const options = this.#options;
    const { method, use } = endpoint;
    const credential = use && (await options.credential(use, route.to.origin));
    const headers = buildHeaders(options, endpoint, { credential, own });
    const traceReply = traceRequest(options, { method, url, headers, projectHeader: options.project?.header });
    this.#connections ??= import("./connections.ts").then(({ Connections }) => new Connections());
    const connections = await this.#connections;
    // A log request opens a new connection, because a reused one that the service closed leaves the outcome unknown.
    const connection = await connections.open(route, !exchanges.isStreamed(content.body));
    const request = { method, route, path, headers, silenceMs, ...content };
    const reply = await exchanges.runExchange(connection, request);
    traceReply(reply, reply.bytes.length);
    const serviceError = options.serviceError?.();
    if (serviceError !== undefined && !retries.isSuccess(reply.status)) throw serviceError;
    const decoded = await decodeBody(reply, content.maxReplyLength);
    return {
      ...decoded,
      ...retries.parseRetryAfter(reply.headers, options.host.now()),
      isWebPage: isWebPage(decoded) || (decoded.error !== undefined && isWebPage(reply)),
      credential,
    };
  }
}

export type Client = Pick<ServiceClient, keyof ServiceClient>;

const readReply = <Path extends string, Body, Reply>(
  endpoint: Endpoint<Path, Body, Reply>,
  context: failures.RequestContext,
  reply: failures.AttemptResult & { status: number },
) => {
  const bytes = reply.bytes.subarray(bomLength(reply.bytes));
  const parsed = endpoint.reply(bytes, reply.headers);
  if (parsed && "value" in parsed) return parsed.value;
  throw failures.invalidReply(context, { ...reply, bytes, invalidPath: parsed?.invalidPath });
};
