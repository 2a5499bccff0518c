/** Makes a request of an endpoint value: address, raw path, headers, credential (interface 4, 5) and `--debug` lines. */
import { version } from "../../package.json" with { type: "json" };
import { type Credential, type CredentialUse, type Endpoint, fillPath } from "../contract/endpoint.ts";
import { type Host, isLoopback } from "../host.ts";
import type { ExchangeResult } from "./exchange.ts";
import { credentialOverHttp, invalidHeader, invalidPathParameter } from "./failures.ts";
import type { ClientOptions } from "./index.ts";
import { findRoute, parseBaseUrl, type Route } from "./route.ts";

/** An endpoint, and where its requests go. */
export interface RequestTarget {
  readonly endpoint: Endpoint;
  readonly route: Route;
  /** Path as it goes over the wire. */
  readonly path: string;
  readonly url: string;
  /** The project that is set, if the operation takes one or not. */
  readonly project: string | undefined;
}

/** Finds where an endpoint's requests go. @throws Failure of code `usage` */
export const findTarget = (options: ClientOptions, endpoint: Endpoint, parameters: unknown): RequestTarget => {
  const { host, baseUrl: address, insecureHttp } = options;
  const to = parseBaseUrl(address(endpoint.host));
  // Addresses of inference are given with and without the version that its paths begin with.
  const base = endpoint.host === "inference" ? to.path.replace(/\/v1$/, "") : to.path;
  const path = `${base}${buildPath(endpoint, parameters)}`;
  const isExposed = !to.secure && !isLoopback(to.hostname);
  if (endpoint.auth !== "none" && isExposed && !insecureHttp) throw credentialOverHttp(to.origin);
  const route = findRoute(to, host.env);
  return { endpoint, route, path, url: `${to.origin}${path}`, project: options.project?.value };
};

const buildPath = ({ path, parameters: schema }: Endpoint, parameters: unknown): string => {
  const checked = schema.safeParse(parameters);
  if (!checked.success) throw invalidPathParameter(checked.error.issues[0]?.path.map(String).join(".") ?? "", "");
  const values = Object.entries(checked.data ?? {}).map(([name, value]) => [name, String(value)] as const);
  for (const [parameter, value] of values) {
    // `.` and `..` can't be told from steps in a path, encoded or not, and half a character has no encoding.
    const isWellFormed = Buffer.from(value).toString() === value;
    if (/^\.{0,2}$/.test(value) || !isWellFormed) throw invalidPathParameter(parameter, value);
  }
  return fillPath(path, Object.fromEntries(values));
};

/** Names and values of headers, in the order they are sent. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** The headers of a target's request. @throws Failure `invalid-header` */
export const buildHeaders = (
  { project, host }: Pick<ClientOptions, "project" | "host">,
  endpoint: Endpoint,
  { credential, own = {} }: { credential: Credential | undefined; own?: Readonly<Record<string, string>> | undefined },
): Headers => {
  const headers: [string, string][] = [];
  const isUsed = (name: string) =>
    connectionHeaders.test(name) || headers.some(([other]) => other.toLowerCase() === name.toLowerCase());
  const add = (name: string, value: string, what = name) => {
    if (!isToken(name) || !isHeaderValue(value) || isUsed(name)) throw invalidHeader(what);
    headers.push([name, value]);
  };
  if (credential !== undefined) {
    add("Authorization", buildAuthorization(credential), `the credential from ${credential.from}`);
  }
  if (endpoint.jsonContentType) add("Content-Type", "application/json");
  if (endpoint.projectHeader && project !== undefined) add(project.header, project.value, "the project header");
  for (const [name, value] of Object.entries(own)) add(name, value);
  add("Accept-Encoding", "gzip, br");
  add("User-Agent", userAgent(host));
  return headers;
};

/** What a request says that it is from. */
export const userAgent = ({ nodeVersion, platform }: Host): string =>
  `rollcall/${version} node/${nodeVersion} ${platform}`;

/** interface 5. A line end in a password would be hidden by its encoding: it is refused as in a token. */
const buildAuthorization = (credential: Credential): string => {
  if (credential.scheme === "bearer") return `Bearer ${credential.token}`;
  const pair = `${credential.username}:${credential.password}`;
  return /[\r\n]/.test(pair) ? pair : `Basic ${Buffer.from(pair).toString("base64")}`;
};

/** Headers that are the connection's: whoever gave one of these names to the project header did not mean it. */
const connectionHeaders =
  /^(connection|content-length|expect|host|keep-alive|proxy-authorization|te|trailer|transfer-encoding|upgrade)$/i;

const isToken = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);

/** Visible ASCII, and spaces inside: nothing that could begin a header of its own. */
export const isHeaderValue = (value: string): boolean => /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);

/** Returns a target's credential; after a 401 that `refused` one, another; undefined if there is none. */
export type CredentialSource = (target: RequestTarget, refused?: Credential) => Promise<Credential | undefined>;

/** Asks for a credential once for all requests to an origin, and once more for each that was refused. */
export const openCredentials = (options: ClientOptions): CredentialSource => {
  const latestCredentials = new Map<string, Promise<Credential>>();
  const ask = async (use: CredentialUse, origin: string, isRefused: boolean): Promise<Credential> => {
    const asked = options.credential(use, { origin, refused: isRefused });
    latestCredentials.set(`${use} ${origin}`, asked);
    return await asked;
  };
  return async ({ endpoint: { use }, route: { to } }, refused) => {
    if (use === undefined) return undefined;
    const { origin } = to;
    const latest = latestCredentials.get(`${use} ${origin}`);
    if (refused === undefined) return await (latest ?? ask(use, origin, false));
    const isOther = (one: Credential) => buildAuthorization(one) !== buildAuthorization(refused);
    // Another request may have asked since: then what it got is tried first.
    const latestCredential = await latest;
    if (latestCredential !== undefined && isOther(latestCredential)) return latestCredential;
    const fresh = await ask(use, origin, true);
    return isOther(fresh) ? fresh : undefined;
  };
};

/** Headers that hold no secret. */
const shownHeaderNames = new Set(
  `accept-encoding cf-ray content-encoding content-length content-range content-type date etag idempotency-key if-match
  if-modified-since if-none-match if-unmodified-since last-modified range request-id retry-after retry-after-ms server
  transfer-encoding user-agent via x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset x-request-id`.split(/\s+/),
);

/** The headers of a request that may be shown, a line each: `Authorization` with its scheme alone. */
export const toShownHeaders = (headers: Headers, project: string | undefined): readonly string[] =>
  headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (lower === "authorization") return [`${name}: ${value.split(" ", 1)[0]} …`];
    return shownHeaderNames.has(lower) || lower === project?.toLowerCase() ? [`${name}: ${value}`] : [];
  });

/** A request as `--debug` shows it. `project` is the name of the project's header, whose value is no secret. */
interface ShownRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly project?: string | undefined;
}

/** Shows a request with `--debug`, then its reply: an allow-list of headers, never bodies, never credentials. */
export const traceRequest = (
  { trace, host }: Pick<ClientOptions, "trace" | "host">,
  { method, url, headers, project }: ShownRequest,
): ((reply: Pick<ExchangeResult, "status" | "headers" | "error">, bytes: number | string) => void) => {
  const started = host.elapsed();
  for (const line of [`${method} ${url}`, ...toShownHeaders(headers, project)]) trace?.(`> ${line}`);
  return (reply, bytes) => {
    const took = `after ${Math.round(host.elapsed() - started)} ms`;
    if (reply.status !== undefined) trace?.(`< ${reply.status} ${took}, ${bytes} bytes`);
    for (const [name, value] of Object.entries(reply.headers))
      if (shownHeaderNames.has(name)) trace?.(`< ${name}: ${value}`);
    if (reply.error !== undefined) trace?.(`* ${reply.error.code} ${took}`);
  };
};
