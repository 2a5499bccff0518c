/** Looks whether something replies at an address. Nothing secret is sent. */
import type { EndpointHost } from "../contract/endpoint.ts";
import type { Host } from "../host.ts";
import { connectionFailure, proxyOn, settingOf } from "./answers.ts";
import { start } from "./exchange.ts";
import { addressOf, routeTo } from "./route.ts";
import { TransportError } from "./transport-error.ts";

/** The reply. */
export interface Probed {
  readonly status: number;
  /** True if it is a web page, by its own headers. */
  readonly isPage: boolean;
  /** Host and port of the proxy in between. */
  readonly proxy: string | undefined;
}

interface ProbeOptions {
  readonly host: Host;
  readonly address: string;
  readonly of: EndpointHost;
  /** Longest silence on a connection. */
  readonly silenceMs: number;
}

/** Requests once what every server of HTTP/1.1 answers. @throws Failure `no-connection`, `address-malformed`, `proxy-unusable`, the signal's reason */
export const probe = async ({ host, address, of, silenceMs }: ProbeOptions): Promise<Probed> => {
  const to = addressOf(address);
  const route = routeTo(to, host.env);
  const { openConnections } = await import("./connections.ts");
  const connections = openConnections(host);
  const headers = [["User-Agent", "rollcall doctor"]] as const;
  const outgoing = { method: "HEAD", route, path: to.path || "/", headers } as const;
  const limits = { silenceMs, wholeMs: silenceMs, signal: host.signal };
  try {
    const connection = await connections.open(route);
    return await new Promise<Probed>((resolve, reject) => {
      start(connection, outgoing, limits, {
        // A server may go on with informational replies for ever: the first says that something is there.
        head: (status, { "content-type": type = "" }) =>
          resolve({ status, isPage: /^(text\/html|application\/xhtml)/i.test(type), proxy: proxyOn(route) }),
        data: () => true,
        end: (error = new TransportError("CUT")) => {
          const setting = settingOf[of];
          reject(connectionFailure(error, { route, silenceMs, tries: 1, setting }, { where: { setting } }));
        },
      });
    });
  } catch (thrown) {
    host.signal.throwIfAborted();
    throw thrown;
  } finally {
    connections.close();
  }
};

/** Which proxy requests to an address go through. @throws Failure `proxy-unusable`, `address-malformed` */
export const proxyFor = (address: string, env: Host["env"]): string | undefined =>
  proxyOn(routeTo(addressOf(address), env));
