/** Looks whether something answers at an address. Nothing secret goes along. */
import type { IncomingHttpHeaders, IncomingMessage, InformationEvent } from "node:http";
import type { Socket } from "node:net";
import type { EndpointHost } from "../contract/endpoint.ts";
import type { Host } from "../host.ts";
import { openSocket } from "./connect.ts";
import { openRequest } from "./exchange.ts";
import { noConnection, proxyOn, settingOf } from "./failures.ts";
import { addressOf, type Route, routeTo } from "./proxy.ts";
import { Trouble, troubleOf } from "./trouble.ts";

/** What answered. */
export interface Probed {
  readonly status: number;
  /** Whether the answer is a web page, by what it says of itself. */
  readonly isPage: boolean;
  /** Host and port of the proxy in between. */
  readonly proxy: string | undefined;
}

interface ProbeOptions {
  readonly host: Host;
  readonly address: string;
  readonly of: EndpointHost;
  /** Longest silence once a connection stands. */
  readonly silenceMs: number;
}

/** Asks once. @throws Failure `no-connection`, `address-malformed`, `proxy-unusable`, the signal's reason */
export const probe = async (options: ProbeOptions): Promise<Probed> => {
  const { host, address, of, silenceMs } = options;
  const to = addressOf(address);
  const route = routeTo(to, host.env);
  try {
    const socket = await openSocket(route, host.signal);
    try {
      const { status, headers } = await headOf(socket, route, { silenceMs, signal: host.signal });
      return {
        status,
        isPage: /^(text\/html|application\/xhtml)/i.test(headers["content-type"] ?? ""),
        proxy: proxyOn(route),
      };
    } finally {
      socket.destroy();
    }
  } catch (thrown) {
    host.signal.throwIfAborted();
    const setting = settingOf[of];
    throw noConnection(troubleOf(thrown), { route, silenceMs, tries: 1, setting }, { where: { setting } });
  }
};

/** Which proxy requests to an address go through. @throws Failure `proxy-unusable`, `address-malformed` */
export const proxyFor = (address: string, env: Host["env"]): string | undefined =>
  proxyOn(routeTo(addressOf(address), env));

/** Asks what every server of HTTP/1.1 answers, whatever it says, for the head of the answer. @throws Trouble, and what Node's HTTP client throws */
const headOf = (
  socket: Socket,
  route: Route,
  { silenceMs, signal }: { readonly silenceMs: number; readonly signal: AbortSignal },
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }> =>
  new Promise((resolve, reject) => {
    const head = { method: "HEAD", route, path: route.to.path || "/", headers: ["User-Agent", "rollcall doctor"] };
    const sent = openRequest({ createConnection: () => socket }, head, signal);
    const answered = ({ statusCode = 0, headers }: InformationEvent | IncomingMessage) =>
      resolve({ status: statusCode, headers });
    signal.addEventListener("abort", () => reject(new Trouble("ABORTED", { cause: signal.reason })), { once: true });
    socket.setTimeout(silenceMs, () => reject(new Trouble("SILENT")));
    // A server may go on with what is no final answer for ever, or change to another protocol: its first says that it is there.
    for (const event of ["response", "information", "upgrade"]) sent.once(event, answered);
    sent.on("error", reject).end();
  });
