/** Where requests go: addresses taken apart, and which machines are this one. */
import { Failure } from "../failure.ts";

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
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new Failure("address-malformed", { why: "scheme" });
  }
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") {
    throw new Failure("address-malformed", { why: "extras" });
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

/** Whether a host is this machine: 127.0.0.0/8, ::1 and `localhost` (as `URL` writes them). */
export const isLoopback = (hostname: string): boolean =>
  /^127\.\d+\.\d+\.\d+$/.test(hostname) || hostname === "::1" || /^localhost\.?$/.test(hostname);
