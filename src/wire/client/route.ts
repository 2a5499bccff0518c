/** Describes the target of a request. */
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
  /** The end of `path` that no setting changes. */
  endpointPath: string;
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
