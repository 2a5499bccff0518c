/** The way to an address: the address taken apart, and the proxy that the environment names for it. */
import { isIP } from "node:net";
import { decodePercent, type Host, isLoopback } from "../host.ts";
import { invalidProxy, invalidUrl } from "./failures.ts";

/** An address, taken apart. */
export interface ParsedUrl {
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
  readonly to: ParsedUrl;
  /** The proxy, with its value of `Proxy-Authorization` if its address has a user. */
  readonly proxy: (ParsedUrl & { readonly authorization: string | undefined }) | undefined;
}

/** Takes an address apart. @throws Failure `invalid-url`; settings refuse the same, and say where it was set */
export const parseBaseUrl = (text: string): ParsedUrl => {
  const url = parseHttpUrl(text);
  if (url === undefined) throw invalidUrl("scheme");
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") throw invalidUrl("extras");
  return toParsedUrl(url);
};

/** Finds the way to an address. Loopback never goes through a proxy. @throws Failure `invalid-proxy` */
export const findRoute = (to: ParsedUrl, env: Host["env"]): Route => {
  if (isLoopback(to.hostname)) return { to, proxy: undefined };
  const scheme = to.secure ? "https_proxy" : "http_proxy";
  const variable = [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"].find((name) => (env[name] ?? "") !== "");
  if (variable === undefined || isWithoutProxy(to, env.no_proxy ?? env.NO_PROXY ?? "")) return { to, proxy: undefined };
  const value = env[variable] ?? "";
  const url = parseHttpUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url === undefined) throw invalidProxy(variable);
  const user = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
  const authorization = user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`;
  return { to, proxy: { ...toParsedUrl(url), authorization } };
};

const parseHttpUrl = (text: string): URL | undefined =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new URL(text) : undefined;

const toParsedUrl = ({ protocol, origin, hostname, host, port: ownPort, pathname }: URL): ParsedUrl => {
  const secure = protocol === "https:";
  const port = ownPort === "" ? (secure ? 443 : 80) : Number(ownPort);
  const path = pathname.replace(/\/+$/, "");
  const name = hostname.replace(/^\[|\]$/g, "");
  return { origin, secure, hostname: name, port, authority: host, hostAndPort: `${hostname}:${port}`, path };
};

/** True if `NO_PROXY` names a host: `*`, a name with all below it, a number, each with or without a port. */
const isWithoutProxy = ({ hostname, port }: ParsedUrl, list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    if (entry === "*") return true;
    const [, bracketed, plain, ownPort] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const name = (bracketed ?? plain ?? entry).replace(/^\*?\.+/, "");
    if (name === "" || (ownPort !== undefined && Number(ownPort) !== port)) return false;
    const host = hostname.toLowerCase();
    return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
  });
