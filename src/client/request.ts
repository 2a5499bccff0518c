/** Makes one request of an endpoint value: its address, raw path and headers (interface 4 and 5). */

import { version } from "../../package.json" with { type: "json" };
import { type Credential, type CredentialUse, type Endpoint, fillPath } from "../contract/endpoint.ts";
import { isLoopback } from "../host.ts";
import type { ClientOptions } from "./client.ts";
import { credentialOverHttp, headerUnusable, pathParameterUnusable } from "./failures.ts";
import { type Address, addressOf } from "./route.ts";

/** An endpoint at its address, before it has its credential. */
export interface Target {
  readonly endpoint: Endpoint;
  readonly address: Address;
  /** Path as it goes over the wire. */
  readonly path: string;
  readonly url: string;
}

/** Finds where an endpoint's request goes. @throws Failure `path-parameter-unusable`, `address-malformed`, `credential-over-http` */
export const targetOf = (options: ClientOptions, endpoint: Endpoint, parameters: unknown): Target => {
  const address = addressOf(options.address(endpoint.host));
  const base = endpoint.host === "inference" ? withoutVersion(address.path) : address.path;
  const path = `${base}${filled(endpoint, parameters)}`;
  if (endpoint.auth !== "none" && !address.secure && !options.insecureHttp && !isLoopback(address.hostname)) {
    throw credentialOverHttp(address.origin);
  }
  return { endpoint, address, path, url: `${address.origin}${path}` };
};

/** Addresses of inference are given with and without the version that its paths begin with. */
const withoutVersion = (path: string): string => path.replace(/\/v1$/, "");

const filled = ({ path, parameters: schema }: Endpoint, parameters: unknown): string => {
  const checked = schema.safeParse(parameters);
  if (!checked.success) {
    const parameter = checked.error.issues[0]?.path.map(String).join(".") ?? "";
    throw pathParameterUnusable(parameter, "");
  }
  const values = Object.entries(checked.data ?? {}).map(([name, value]) => [name, String(value)] as const);
  for (const [parameter, value] of values) {
    // `.` and `..` can't be told from steps in a path, encoded or not, and half a character has no encoding.
    const isWellFormed = Buffer.from(value).toString() === value;
    if (/^\.{0,2}$/.test(value) || !isWellFormed) throw pathParameterUnusable(parameter, value);
  }
  return fillPath(path, Object.fromEntries(values));
};

/** A header's name and value, in the order they are sent. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** The headers of a target's request. @throws Failure `header-unusable` */
export const headersOf = (
  options: ClientOptions,
  { endpoint }: Target,
  credential: Credential | undefined,
  own: Readonly<Record<string, string>> = {},
): Headers => {
  const headers: [string, string][] = [];
  const isTaken = (name: string) =>
    connectionHeaders.has(name.toLowerCase()) || headers.some(([other]) => other.toLowerCase() === name.toLowerCase());
  const add = (name: string, value: string, what: string) => {
    if (!isToken(name) || !isHeaderValue(value) || isTaken(name)) throw headerUnusable(what);
    headers.push([name, value]);
  };
  if (credential !== undefined)
    add("Authorization", authorization(credential), `the credential from ${credential.from}`);
  if (endpoint.jsonContentType) add("Content-Type", "application/json", "Content-Type");
  if (endpoint.projectHeader && options.project !== undefined) {
    add(options.project.header, options.project.value, "the project header");
  }
  for (const [name, value] of Object.entries(own)) add(name, value, name);
  add("Accept-Encoding", "gzip, br", "Accept-Encoding");
  add("User-Agent", userAgent(options.host), "User-Agent");
  return headers;
};

/** What a request says that it is from. */
export const userAgent = ({ nodeVersion, platform }: ClientOptions["host"]): string =>
  `rollcall/${version} node/${nodeVersion} ${platform}`;

/** interface 5. A line end in a password would be hidden by its encoding: it is refused as in a token. */
const authorization = (credential: Credential): string => {
  if (credential.scheme === "bearer") return `Bearer ${credential.token}`;
  const pair = `${credential.username}:${credential.password}`;
  return /[\r\n]/.test(pair) ? pair : `Basic ${Buffer.from(pair).toString("base64")}`;
};

/** Headers that are the connection's: whoever gave one of these names to the project header did not mean it. */
const connectionHeaders = new Set(
  "connection content-length expect host keep-alive proxy-authorization te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

const isToken = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);

/** Visible ASCII and spaces inside: all that a credential or a name of a project can be, and nothing that could begin a header of its own. */
export const isHeaderValue = (value: string): boolean => /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);

/** The credential of an endpoint, asked for once for all requests to an origin. */
export interface Credentials {
  of(target: Target): Promise<Credential | undefined>;
  /** Asks once more after a 401. Undefined where the same came again. */
  another(target: Target, refused: Credential): Promise<Credential | undefined>;
}

/** Keeps what `options.credential` gave, for as long as the client lives. */
export const openCredentials = (options: ClientOptions): Credentials => {
  const known = new Map<string, Promise<Credential>>();
  const ask = (use: CredentialUse, origin: string, refused: boolean): Promise<Credential> => {
    const asked = options.credential(use, { origin, refused });
    known.set(`${use} ${origin}`, asked);
    return asked;
  };
  return {
    async of({ endpoint: { use }, address: { origin } }) {
      return use === undefined ? undefined : await (known.get(`${use} ${origin}`) ?? ask(use, origin, false));
    },
    async another({ endpoint: { use }, address: { origin } }, refused) {
      if (use === undefined) return undefined;
      // Another request may have asked since: then what it got is tried first.
      const latest = await known.get(`${use} ${origin}`);
      if (latest !== undefined && authorization(latest) !== authorization(refused)) return latest;
      const fresh = await ask(use, origin, true);
      return authorization(fresh) === authorization(refused) ? undefined : fresh;
    },
  };
};
