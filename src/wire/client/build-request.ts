/** Defines the options of requests, and builds requests (interface 4, 5) and their `--debug` lines. */
import { version } from "../../../package.json" with { type: "json" };
import { Failure } from "../../failure.ts";
import type { Host } from "../../system/host.ts";
import { isLoopback } from "../../system/host.ts";
import {
  type Credential,
  type CredentialUse,
  type Endpoint,
  type EndpointHost,
  fillPath,
} from "../contract/endpoint.ts";
import type { ExchangeResult, Headers } from "./exchange.ts";
import { findRoute, type RequestTarget } from "./route.ts";

export type ClientOptions = Readonly<{
  host: Host;
  /** @throws Failure if the URL is not set */
  baseUrl: (host: EndpointHost) => string;
  credential: (use: CredentialUse, origin: string) => Promise<Credential>;
  project: { header: string; value: string } | undefined;
  /** The longest time without data. Default: 30 s for a read, 5 min for a log. */
  timeoutMs: number | undefined;
  maxWaitMs: number;
  /** False limits reads to 4 attempts in 15 s. Default: true. */
  isMaxWaitSet?: boolean;
  /** Default: true. */
  retries?: boolean;
  /** True if reads retry after an unknown host or a refused connection. */
  waitsForHost: boolean;
  insecureHttp: boolean;
  onRetry?: (reason: string, retry: Retry) => void;
  trace: ((line: string) => void) | undefined;
  /** Cleans a text of the service. Default: unchanged. */
  clean?: ((text: string) => string) | undefined;
  /** The error of a service in this process says more than its response. */
  serviceError?: () => unknown;
}>;

export type Retry = Readonly<{
  /** The number of the next attempt, from 2. */
  attempt: number;
  waitMs: number;
  /** The rest of `--max-wait` after this wait. */
  leftMs: number;
}>;

export const findTarget = (options: ClientOptions, endpoint: Endpoint, parameters: unknown): RequestTarget => {
  const { host, baseUrl, insecureHttp, project, clean } = options;
  const to = new URL(baseUrl(endpoint.host));
  // Removes `/v1`, because the endpoint's path begins with `/v1`.
  const base = to.pathname.replace(endpoint.host === "inference" ? /(\/v1)?\/*$/ : /\/*$/, "");
  const path = `${base}${buildPath(endpoint.path, parameters)}`;
  const isExposed = to.protocol === "http:" && !isLoopback(to.hostname);
  if (endpoint.use && isExposed && !insecureHttp) {
    const message = `${to.origin} is plain http, but rollcall sends keys to other machines only over https`;
    const hint = "use https://, or pass --insecure-http to send the key anyway";
    throw new Failure("usage", "credential-over-http", message, { hint });
  }
  const route = findRoute(to, host.env);
  return { endpoint, route, path, url: `${to.origin}${path}`, project: project?.value, clean };
};

const buildPath = (path: string, parameters: unknown) => {
  const values = Object.entries(parameters ?? {}).map(([name, value]) => [name, String(value)] as const);
  for (const [parameter, value] of values) {
    // URL parsers resolve `.` and `..` even in percent-encoding. UTF-8 cannot encode a lone surrogate.
    const isWellFormed = Buffer.from(value).toString() === value;
    if (!/^\.{0,2}$/.test(value) && isWellFormed) continue;
    throw new Failure("usage", "invalid-path-parameter", `invalid ${parameter.replaceAll("_", " ")}: "${value}"`);
  }
  return fillPath(path, Object.fromEntries(values));
};

export const buildHeaders = (
  { project, host }: Pick<ClientOptions, "project" | "host">,
  endpoint: Endpoint,
  { credential, own = {} }: { credential: Credential | undefined; own?: Readonly<Record<string, string>> | undefined },
) => {
  const headers: [string, string][] = [];
  const add = (name: string, value: string, title = name) => {
    if (isHeaderValue(value)) return headers.push([name, value]);
    const message = `cannot send ${title} as a header: it contains a character that headers cannot contain`;
    throw new Failure("usage", "invalid-header", message, { hint: "use only ASCII characters, without line ends" });
  };
  if (credential)
    add("Authorization", buildAuthorization(endpoint.use, credential), `the credential from ${credential.from}`);
  // Interface 4.2 requires this header, although the request has no body.
  if (endpoint.use !== undefined) add("Content-Type", "application/json");
  if (endpoint.use === "inference" && project) add(project.header, project.value, "the project");
  headers.push(...Object.entries(own), ["Accept-Encoding", "gzip, br"], ["User-Agent", userAgent(host)]);
  return headers;
};

export const userAgent = ({ nodeVersion, platform }: Host) => `rollcall/${version} node/${nodeVersion} ${platform}`;

/** Interface 5. `isHeaderValue` must reject a pair with a line end, so this pair stays unencoded. */
const buildAuthorization = (use: Endpoint["use"], { secret, username = "api" }: Credential) => {
  if (use !== "calls") return `Bearer ${secret}`;
  const pair = `${username}:${secret}`;
  return /[\r\n]/.test(pair) ? pair : `Basic ${Buffer.from(pair).toString("base64")}`;
};

const isHeaderValue = (value: string) => /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);

const shownHeaderNames = new Set(
  `accept-encoding cf-ray content-encoding content-length content-range content-type date etag idempotency-key
  last-modified request-id retry-after retry-after-ms server transfer-encoding user-agent via x-ratelimit-limit
  x-ratelimit-remaining x-ratelimit-reset x-request-id`.split(/\s+/),
);

/** Omits the credential. */
export const toShownHeaders = (headers: Headers, projectHeader: string | undefined) =>
  headers.flatMap(([name, value]) => {
    const lowerName = name.toLowerCase();
    if (lowerName === "authorization") return [`${name}: ${value.split(" ", 1)[0]} …`];
    return shownHeaderNames.has(lowerName) || lowerName === projectHeader?.toLowerCase() ? [`${name}: ${value}`] : [];
  });

/** Prints headers without the credential. Returns a function that prints the reply's headers. */
export const traceRequest = (
  { trace, host, clean = String }: Pick<ClientOptions, "trace" | "host" | "clean">,
  request: { method: string; url: string; headers: Headers; projectHeader?: string | undefined },
) => {
  const { method, url, headers, projectHeader } = request;
  const started = host.elapsed();
  for (const line of [`${method} ${url}`, ...toShownHeaders(headers, projectHeader)]) trace?.(`> ${line}`);
  return ({ status, headers, error }: Pick<ExchangeResult, "status" | "headers" | "error">, bytes: number) => {
    const took = `after ${Math.round(host.elapsed() - started)} ms`;
    if (status) trace?.(`< ${status} ${took}, ${bytes} bytes`);
    for (const [name, value] of Object.entries(headers))
      if (shownHeaderNames.has(name)) trace?.(`< ${name}: ${clean(String(value))}`);
    if (error) trace?.(`* ${error.code} ${took}`);
  };
};
