/** Keeps web pages out: a browser on this machine must not be a way in for whoever wrote the page it shows. */
import type { IncomingHttpHeaders } from "node:http";

/** What of a request tells where it comes from. */
type Headers = Pick<IncomingHttpHeaders, "host" | "origin"> & {
  readonly "sec-fetch-site"?: string | string[] | undefined;
};

/** Why a request is refused; undefined where it is not. `allowHosts` are names beside loopback. */
export const foreignness = (headers: Headers, allowHosts: readonly string[]): string | undefined => {
  const host = headers.host ?? "";
  // A page's own name may be made to lead to this machine (DNS rebinding): only names that are meant are answered.
  if (!isMeant(hostName(host), allowHosts)) return `this service does not go by the name ${JSON.stringify(host)}`;
  const { origin } = headers;
  if (origin !== undefined && !isOwn(origin, host)) return `requests of ${JSON.stringify(origin)} are refused`;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return "requests of other sites are refused";
  return undefined;
};

/** Whether an address can be reached from this machine alone. */
export const isLoopback = (address: string): boolean =>
  address === "localhost" || address === "::1" || /^127(?:\.\d{1,3}){3}$/.test(address);

const isMeant = (name: string, allowHosts: readonly string[]): boolean =>
  isLoopback(name) || allowHosts.some((allowed) => allowed.toLowerCase() === name);

/** The name in a `Host` header, without port and brackets. */
const hostName = (host: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
};

const isOwn = (origin: string, host: string): boolean => {
  const given = origin.toLowerCase();
  return given === `http://${host.toLowerCase()}` || given === `https://${host.toLowerCase()}`;
};
