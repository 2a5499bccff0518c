/** Checks the host, the origin and the credential of a request. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "../../text/locations.ts";

export const foreignRequestReason = (headers: IncomingHttpHeaders, allowHosts: readonly string[]) => {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  const name = hostName(host);
  // A web page's host name can resolve to this machine (DNS rebinding).
  if (!isLoopback(name) && !allowHosts.some((allowed) => allowed.toLowerCase() === name)) {
    return `unknown host ${JSON.stringify(host)} (allow it with --allow-host)`;
  }
  const ownOrigins = [undefined, `http://${host}`.toLowerCase(), `https://${host}`.toLowerCase()];
  const isOwnSite = site === undefined || site === "same-origin" || site === "none";
  return isOwnSite && ownOrigins.includes(origin?.toLowerCase()) ? undefined : "requests from other sites are refused";
};

const hostName = (host: string) => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
};

/** Compares digests, because `timingSafeEqual` requires equal lengths. */
export const isAuthorized = (header: string | undefined, key: string, scheme: "bearer" | "basic" = "bearer") => {
  const given = parseCredential(header, scheme);
  return given !== undefined && timingSafeEqual(digest(given), digest(key));
};

const parseCredential = (header: string | undefined, scheme: "bearer" | "basic") => {
  const [, name = "", value = ""] = /^([a-z]+) +(.*)$/i.exec(header ?? "") ?? [];
  if (name.toLowerCase() !== scheme) return undefined;
  if (scheme === "bearer") return value;
  // Assumed: the password is the key.
  const credential = Buffer.from(value, "base64").toString("utf8");
  return credential.slice(credential.indexOf(":") + 1);
};

const digest = (key: string) => createHash("sha256").update(key).digest();
