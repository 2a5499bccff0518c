/** The route to a URL: the proxy that the environment names for it. */
import { isIP } from "node:net";
import { decodePercent, type Host, isLoopback } from "../host.ts";
import { hostAndPort, invalidProxy } from "./failures.ts";

export interface Route {
  readonly to: URL;
  readonly proxy: { readonly url: URL; readonly authorization: string | undefined } | undefined;
}

/** Finds the route to a URL. Loopback never uses a proxy. @throws Failure `invalid-proxy` */
export const findRoute = (to: URL, env: Host["env"]): Route => {
  if (isLoopback(to.hostname)) return { to, proxy: undefined };
  const scheme = to.protocol.replace(":", "_proxy");
  const variable = [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"].find((name) => env[name]);
  if (variable === undefined || isWithoutProxy(to, env.no_proxy ?? env.NO_PROXY ?? "")) return { to, proxy: undefined };
  const value = env[variable] ?? "";
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidProxy(variable);
  const userInfo = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
  const authorization = userInfo === ":" ? undefined : `Basic ${Buffer.from(userInfo).toString("base64")}`;
  return { to, proxy: { url, authorization } };
};

/** True if `NO_PROXY` lists a host: `*`, a name with all names below it, or an IP address, with or without a port. */
const isWithoutProxy = (to: URL, list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    if (entry === "*") return true;
    const [, bracketed, plain, ownPort] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const name = (bracketed ?? plain ?? entry).replace(/^\*?\.+/, "");
    if (name === "" || (ownPort !== undefined && !hostAndPort(to).endsWith(`:${ownPort}`))) return false;
    const host = to.hostname.replace(/^\[|\]$/g, "");
    return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
  });
