/** Where requests go: addresses taken apart, and the proxy that the environment names for them. */

import { isIP } from "node:net";
import { isLoopback } from "../host.ts";
import { unescapedPercent } from "../percent.ts";
import { addressMalformed, proxyUnusable } from "./failures.ts";

/** An address, taken apart. */
export interface Address {
  /** `http://` or `https://`, host, and a port that is not the scheme's own. */
  readonly origin: string;
  readonly secure: boolean;
  /** Name or number, an IPv6 number without its brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Host and port as the `Host` header has them. */
  readonly authority: string;
  /** Path below which the endpoints are: empty, or `/…` without a slash at its end. */
  readonly path: string;
}

/** Takes an address apart. @throws Failure `address-malformed`; settings refuse the same, and say where it was set */
export const addressOf = (text: string): Address => {
  const url = httpUrl(text);
  if (url === undefined) throw addressMalformed("scheme");
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") {
    throw addressMalformed("extras");
  }
  const secure = url.protocol === "https:";
  return {
    origin: url.origin,
    secure,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    authority: url.host,
    path: url.pathname.replace(/\/+$/, ""),
  };
};

const httpUrl = (text: string): URL | undefined =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new URL(text) : undefined;

/** A proxy, and what it asks for. */
export interface ProxyServer {
  readonly address: Address;
  /** Value of `Proxy-Authorization`; undefined where the proxy's address holds no user. */
  readonly authorization: string | undefined;
}

/** The way to an address. */
export interface Route {
  readonly to: Address;
  readonly proxy: ProxyServer | undefined;
}

/** How long connecting may take, names, proxies and TLS included (promises.md, "Global options"). */
export const connectTimeoutMs = 10_000;

/** True if a proxy forwards the request itself: without TLS on either side. Otherwise it opens a tunnel. */
export const isForwarded = ({ to, proxy }: Route): boolean =>
  proxy !== undefined && !to.secure && !proxy.address.secure;

type Environment = Readonly<Record<string, string | undefined>>;

/** Finds the way to an address. Loopback never goes through a proxy. @throws Failure `proxy-unusable` */
export const routeTo = (to: Address, env: Environment): Route => {
  if (isLoopback(to.hostname)) return { to, proxy: undefined };
  const scheme = to.secure ? "https_proxy" : "http_proxy";
  for (const variable of [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"]) {
    const value = env[variable];
    if (value === undefined || value === "") continue;
    return { to, proxy: isExempt(to, env.no_proxy ?? env.NO_PROXY ?? "") ? undefined : proxyOf(value, variable) };
  }
  return { to, proxy: undefined };
};

const proxyOf = (value: string, variable: string): ProxyServer => {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = httpUrl(text);
  if (url === undefined) throw proxyUnusable(variable);
  const user = `${unescapedPercent(url.username)}:${unescapedPercent(url.password)}`;
  return {
    address: addressOf(url.origin),
    authorization: user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`,
  };
};

/** Whether `NO_PROXY` names a host: `*`, a name with all below it, a number, each with or without a port. */
const isExempt = ({ hostname, port }: Address, list: string): boolean =>
  list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== "" && matches(entry, hostname.toLowerCase(), port));

const matches = (entry: string, hostname: string, port: number): boolean => {
  if (entry === "*") return true;
  const [, bracketed, plain, wantedPort] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
  if (wantedPort !== undefined && Number(wantedPort) !== port) return false;
  const name = (bracketed ?? plain ?? entry).replace(/^\*?\.+/, "");
  return hostname === name || (isIP(hostname) === 0 && hostname.endsWith(`.${name}`));
};
