/** Finds the route of a request, directly or through a proxy. */
import { BlockList, isIP } from "node:net";
import { Failure } from "../../failure.ts";
import { decodePercent, type Host, isLoopback } from "../../system/host.ts";
import type { Endpoint } from "../contract/endpoint.ts";

export type Route = Readonly<{
  to: URL;
  proxy: { url: URL; authorization: string | undefined; variable: string } | undefined;
  /** The file of NODE_EXTRA_CA_CERTS. */
  certificates?: string | undefined;
}>;

export type RequestTarget = Readonly<{
  endpoint: Endpoint;
  route: Route;
  path: string;
  /** Without a query, because a query can contain secrets. */
  url: string;
  project: string | undefined;
  /** Cleans a text of the service. */
  clean?: ((text: string) => string) | undefined;
}>;

/** With TLS to the service or to the proxy, undici opens a tunnel instead. */
export const isForwardedByProxy = ({ to, proxy }: Route) =>
  proxy !== undefined && to.protocol === "http:" && proxy.url.protocol === "http:";

export const hostAndPort = ({ hostname, port, protocol }: URL) =>
  `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;

/** A query can contain secrets. */
export const withoutQuery = ({ origin, pathname }: URL) => `${origin}${pathname}`;

/** Loopback addresses never use a proxy. @throws Failure `invalid-proxy` */
export const findRoute = (to: URL, env: Host["env"]): Route => {
  const certificates = env.NODE_EXTRA_CA_CERTS;
  const scheme = to.protocol.replace(":", "_proxy");
  const variable = [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"].find((name) => env[name]);
  if (!variable || isLoopback(to.hostname) || isWithoutProxy(to, env.no_proxy || env.NO_PROXY || ""))
    return { to, proxy: undefined, certificates };
  const value = env[variable] ?? "";
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  // A `#`, `/`, `?` or `\` in a user or password ends the host, and the rest with its `@` would be ignored.
  const isCutByUser = /^[^/]*\/\/[^/?#\\]*[/?#\\].*@/s.test(text);
  if (isCutByUser || !/^https?:/i.test(text) || !URL.canParse(text)) throw invalidProxy(variable, value.includes("@"));
  const url = new URL(text);
  const userInfo = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
  const authorization = userInfo === ":" ? undefined : `Basic ${Buffer.from(userInfo).toString("base64")}`;
  return { to, proxy: { url, authorization, variable }, certificates };
};

const invalidProxy = (variable: string, hasUser: boolean) => {
  const encode = "percent-encode special characters of the user and the password (%23 for #, %2F for /, %40 for @)";
  return new Failure("usage", "invalid-proxy", `${variable} is not a valid proxy URL`, {
    hint: `set ${variable} to http://${hasUser ? "user:password@" : ""}host:port${hasUser ? `, and ${encode}` : " or https://host:port"}`,
  });
};

const isWithoutProxy = (to: URL, list: string) => {
  const host = to.hostname.replace(/^\[|\]$/g, "");
  const hosts = [host, to.hostname, hostAndPort(to)];
  const hasDomain = isIP(host) === 0;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const name = entry.replace(/^\*?\.+/, "");
      if (entry === "*" || name === "") return entry === "*";
      return isInRange(host, name) || hosts.some((each) => each === name || (hasDomain && each.endsWith(`.${name}`)));
    });
};

/** @param range such as `10.0.0.0/8` */
const isInRange = (host: string, range: string) => {
  const [net = "", bits = ""] = range.split("/");
  const family = isIP(host);
  if (family === 0 || isIP(net) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(net, Number(bits), type);
  return list.check(host, type);
};
