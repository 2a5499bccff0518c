/** The way to an address: the address taken apart, and the proxy that the environment names for it. */
import { isIP } from "node:net";
import { type Host, isLoopback, unescapedPercent } from "../host.ts";
import { addressMalformed, proxyUnusable } from "./failures.ts";

/** An address, taken apart. */
export interface Address {
  /** `http://` or `https://`, host, and a port that is not the scheme's own. */
  readonly origin: string;
  readonly secure: boolean;
  /** Name or number, an IPv6 number without its brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Host and port as the `Host` header has them, and as messages do. */
  readonly authority: string;
  readonly hostAndPort: string;
  /** Path below which the endpoints are: empty, or `/…` without a slash at its end. */
  readonly path: string;
}

/** The way to an address. */
export interface Route {
  readonly to: Address;
  /** The proxy, with its value of `Proxy-Authorization` if its address has a user. */
  readonly proxy: (Address & { readonly authorization: string | undefined }) | undefined;
}

/** Takes an address apart. @throws Failure `address-malformed`; settings refuse the same, and say where it was set */
export const addressOf = (text: string): Address => {
  const url = httpUrl(text);
  if (url === undefined) throw addressMalformed("scheme");
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") throw addressMalformed("extras");
  return toAddress(url);
};

/** Finds the way to an address. Loopback never goes through a proxy. @throws Failure `proxy-unusable` */
export const routeTo = (to: Address, env: Host["env"]): Route => {
  if (isLoopback(to.hostname)) return { to, proxy: undefined };
  const scheme = to.secure ? "https_proxy" : "http_proxy";
  const variable = [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"].find((name) => (env[name] ?? "") !== "");
  if (variable === undefined || isExempt(to, env.no_proxy ?? env.NO_PROXY ?? "")) return { to, proxy: undefined };
  const value = env[variable] ?? "";
  const url = httpUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url === undefined) throw proxyUnusable(variable);
  const user = `${unescapedPercent(url.username)}:${unescapedPercent(url.password)}`;
  const authorization = user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`;
  return { to, proxy: { ...toAddress(url), authorization } };
};

const httpUrl = (text: string): URL | undefined =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new URL(text) : undefined;

const toAddress = ({ protocol, origin, hostname, host, port: ownPort, pathname }: URL): Address => {
  const secure = protocol === "https:";
  const port = ownPort === "" ? (secure ? 443 : 80) : Number(ownPort);
  const path = pathname.replace(/\/+$/, "");
  const name = hostname.replace(/^\[|\]$/g, "");
  return { origin, secure, hostname: name, port, authority: host, hostAndPort: `${hostname}:${port}`, path };
};

/** True if `NO_PROXY` names a host: `*`, a name with all below it, a number, each with or without a port. */
const isExempt = ({ hostname, port }: Address, list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    if (entry === "*") return true;
    const [, bracketed, plain, ownPort] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const name = (bracketed ?? plain ?? entry).replace(/^\*?\.+/, "");
    if (name === "" || (ownPort !== undefined && Number(ownPort) !== port)) return false;
    const host = hostname.toLowerCase();
    return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
  });
