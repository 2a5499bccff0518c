/** Tries a request once: a connection, an exchange, a decoded answer. Whatever happens is a value. */
import type { Credential } from "../contract/endpoint.ts";
import type { ClientOptions } from "./client.ts";
import type { Decoded } from "./decode.ts";
import { type Exchanged, exchange, type Outgoing } from "./exchange.ts";
import type { Pool } from "./pool.ts";
import { headersOf, type Target } from "./request.ts";
import type { Route } from "./route.ts";
import { traceReply, traceRequest } from "./trace.ts";
import { Trouble } from "./trouble.ts";

/** A request that is to be tried. */
export interface Trial {
  readonly target: Target;
  readonly route: Route;
  readonly credential: Credential | undefined;
  readonly body: Outgoing["body"];
  /** Headers of the request's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the connection is its own, for this one request. */
  readonly alone?: boolean;
  /** Longest silence in either direction. */
  readonly silenceMs: number;
  /** Largest body that is read: as it comes and decoded. */
  readonly limitBytes: number;
  /** Breaks it off; the host's where none is given. */
  readonly signal?: AbortSignal;
}

/** What became of it. */
export interface Tried {
  /** Undefined where no final status was read. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded, as much as there is. */
  readonly bytes: Uint8Array;
  readonly fault: Decoded["fault"];
  readonly trouble: Trouble | undefined;
  readonly bodySent: boolean;
}

/** Tries a request once. @throws Failure for headers that can't be sent; whatever a streamed body throws */
export const tryOnce = async (options: ClientOptions, pool: Pool, trial: Trial): Promise<Tried> => {
  const { target, credential } = trial;
  const headers = headersOf(options, target, credential, trial.headers);
  traceRequest(options.trace, {
    method: target.endpoint.method,
    url: target.url,
    headers,
    project: options.project?.header,
  });
  const { elapsed } = options.host;
  const started = elapsed();
  const exchanged = await over(options, pool, trial, headers.flat());
  const { status, bodySent, trouble } = exchanged;
  traceReply(options.trace, {
    status,
    headers: exchanged.headers,
    bytes: exchanged.body.length,
    trouble,
    tookMs: elapsed() - started,
  });
  const { bytes, fault } = await decoded(exchanged, trial.limitBytes);
  return { status, headers: exchanged.headers, bytes, fault, trouble, bodySent };
};

const over = async (options: ClientOptions, pool: Pool, trial: Trial, headers: string[]): Promise<Exchanged> => {
  const { route, target, body } = trial;
  const { signal = options.host.signal } = trial;
  try {
    const connection = await (trial.alone === true ? pool.own(route, signal) : pool.take(route, signal));
    const forwarded = route.proxy !== undefined && !route.to.secure;
    const authorization = forwarded ? route.proxy.authorization : undefined;
    if (authorization !== undefined) headers.push("Proxy-Authorization", authorization);
    if (body !== undefined && !(body instanceof Uint8Array)) headers.push("Content-Length", String(body.length));
    const exchanged = await exchange(
      connection,
      { method: target.endpoint.method, path: forwarded ? target.url : target.path, headers, body },
      { silenceMs: trial.silenceMs, bodyBytes: trial.limitBytes, signal },
    );
    if (trial.alone === true || exchanged.trouble !== undefined) pool.end(connection);
    else pool.keep(route, connection);
    return exchanged;
  } catch (thrown) {
    if (!(thrown instanceof Trouble)) throw thrown;
    return { status: undefined, headers: {}, body: new Uint8Array(), trouble: thrown, bodySent: false };
  }
};

const decoded = async ({ body, headers }: Exchanged, limitBytes: number): Promise<Decoded> => {
  const encoding = headers["content-encoding"];
  if (encoding === undefined) return { bytes: body, fault: undefined };
  const { decode } = await import("./decode.ts");
  return await decode(body, encoding, limitBytes);
};
