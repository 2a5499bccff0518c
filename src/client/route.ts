/** The route to a URL: its parts, and the proxy that the environment names for it. */
import { isIP } from "node:net";
import { decodePercent, type Host, isLoopback } from "../host.ts";
import { invalidProxy } from "./failures.ts";

export interface ParsedUrl {
  readonly origin: string;
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: number;
  readonly authority: string;
  readonly hostAndPort: string;
  readonly path: string;
}

export interface Route {
  readonly to: ParsedUrl;
  readonly proxy: (ParsedUrl & { readonly authorization: string | undefined }) | undefined;
}

export const parseBaseUrl = (text: string): ParsedUrl => toParsedUrl(new URL(text));

/** Finds the route to a URL. Loopback never uses a proxy. @throws Failure `invalid-proxy` */
export const findRoute = (to: ParsedUrl, env: Host["env"]): Route => {
  if (isLoopback(to.hostname)) return { to, proxy: undefined };
  const scheme = to.isSecure ? "https_proxy" : "http_proxy";
  const variable = [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"].find((name) => env[name]);
  if (variable === undefined || isWithoutProxy(to, env.no_proxy ?? env.NO_PROXY ?? "")) return { to, proxy: undefined };
  const value = env[variable] ?? "";
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidProxy(variable);
  const userInfo = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
  const authorization = userInfo === ":" ? undefined : `Basic ${Buffer.from(userInfo).toString("base64")}`;
  return { to, proxy: { ...toParsedUrl(url), authorization } };
};

const toParsedUrl = ({ protocol, origin, hostname, host, port, pathname }: URL): ParsedUrl => {
  const isSecure = protocol === "https:";
  const portNumber = port === "" ? (isSecure ? 443 : 80) : Number(port);
  return {
    origin,
    isSecure,
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: portNumber,
    authority: host,
    hostAndPort: `${hostname}:${portNumber}`,
    path: pathname.replace(/\/+$/, ""),
  };
};

/** True if `NO_PROXY` lists a host: `*`, a name with all names below it, or an IP address, with or without a port. */
const isWithoutProxy = ({ hostname, port }: ParsedUrl, list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    if (entry === "*") return true;
    const [, bracketed, plain, ownPort] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const name = (bracketed ?? plain ?? entry).replace(/^\*?\.+/, "");
    if (name === "" || (ownPort !== undefined && Number(ownPort) !== port)) return false;
    const host = hostname.toLowerCase();
    return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
  });
