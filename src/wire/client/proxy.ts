/** Finds the proxy of a request. */
import { isIP } from "node:net";
import { decodePercent, type Host } from "../../system/host.ts";
import { isLoopback } from "../../text/locations.ts";
import { invalidProxy } from "./failures.ts";
import { hostAndPort, type Route } from "./route.ts";

/** Loopback addresses never use a proxy. @throws Failure `invalid-proxy` */
export const findRoute = (to: URL, env: Host["env"]): Route => {
  const certificates = env.NODE_EXTRA_CA_CERTS;
  const scheme = to.protocol.replace(":", "_proxy");
  const variable = [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"].find((name) => env[name]);
  if (!variable || isLoopback(to.hostname) || isWithoutProxy(to, env.no_proxy ?? env.NO_PROXY ?? ""))
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
      return hosts.some((each) => each === name || (hasDomain && each.endsWith(`.${name}`)));
    });
};
