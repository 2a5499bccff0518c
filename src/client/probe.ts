/** Looks whether something answers at an address, how long each step takes, and what its clock says. Nothing secret goes along. */
import type { Socket } from "node:net";
import type { EndpointHost } from "../contract/endpoint.ts";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { connectTimeoutMs, openSocket, type Step } from "./connect.ts";
import { hostAndPort, settingOf } from "./failures.ts";
import { addressOf, type Route, routeTo } from "./proxy.ts";
import { Trouble, troubleOf } from "./trouble.ts";

/** What answered. Times are milliseconds from one step to the next; a step that there was not is undefined. */
export interface Probed {
  readonly status: number;
  /** Whether the answer is a web page, by what it says of itself. */
  readonly isPage: boolean;
  readonly nameMs: number | undefined;
  readonly connectMs: number;
  readonly tunnelMs: number | undefined;
  readonly tlsMs: number | undefined;
  readonly firstByteMs: number;
  /** How far the service's clock is ahead of this machine's; undefined where it does not say. To a second, as it is told. */
  readonly skewMs: number | undefined;
  /** When the certificate ends: milliseconds since 1970. */
  readonly certificateEnds: number | undefined;
  /** Host and port of the proxy in between. */
  readonly proxy: string | undefined;
}

/** What is asked, and how long for. */
export interface ProbeOptions {
  readonly host: Host;
  /** A base address. */
  readonly address: string;
  /** Which of the addresses it is. */
  readonly of: EndpointHost;
  /** Longest silence once a connection stands. */
  readonly silenceMs: number;
}

/** Asks once. @throws Failure `no-connection`, `address-malformed`, `proxy-unusable`, the signal's reason */
export const probe = async (options: ProbeOptions): Promise<Probed> => {
  const { host, address, of, silenceMs } = options;
  const to = addressOf(address);
  const route = routeTo(to, host.env);
  const started = host.elapsed();
  const done = new Map<Step, number>();
  try {
    const socket = await openSocket(route, host.signal, (step) => done.set(step, host.elapsed()));
    try {
      const connected = host.elapsed();
      const sentAt = host.now();
      const head = await headOf(socket, requestOf(route), { silenceMs, signal: host.signal });
      const answered = host.elapsed();
      const { status, isPage, date } = read(head);
      const times = timesOf(done, started);
      return {
        ...times,
        status,
        isPage,
        firstByteMs: answered - connected,
        // Half of the way there and back later than it was sent, as far as anybody can say.
        skewMs: date === undefined ? undefined : date - (sentAt + (answered - connected) / 2),
        certificateEnds: endOfCertificate(socket),
        proxy: route.proxy === undefined ? undefined : hostAndPort(route.proxy.address),
      };
    } finally {
      socket.destroy();
    }
  } catch (thrown) {
    host.signal.throwIfAborted();
    throw failureOf(troubleOf(thrown), { route, of, silenceMs });
  }
};

/** Which proxy requests to an address go through. @throws Failure `proxy-unusable`, `address-malformed` */
export const proxyFor = (address: string, env: Host["env"]): string | undefined => {
  const { proxy } = routeTo(addressOf(address), env);
  return proxy === undefined ? undefined : hostAndPort(proxy.address);
};

const timesOf = (done: ReadonlyMap<Step, number>, started: number) => {
  let before = started;
  const since = (step: Step): number | undefined => {
    const at = done.get(step);
    if (at === undefined) return undefined;
    const ms = at - before;
    before = at;
    return ms;
  };
  return { nameMs: since("name"), connectMs: since("connect") ?? 0, tunnelMs: since("tunnel"), tlsMs: since("tls") };
};

/** A request that every server of HTTP/1.1 answers, whatever it says. */
const requestOf = ({ to, proxy }: Route): string => {
  const path = to.path === "" ? "/" : to.path;
  const forwarded = proxy !== undefined && !to.secure;
  const authorization = forwarded ? proxy.authorization : undefined;
  return [
    `HEAD ${forwarded ? to.origin : ""}${path} HTTP/1.1`,
    `Host: ${to.authority}`,
    "User-Agent: rollcall doctor",
    ...(authorization === undefined ? [] : [`Proxy-Authorization: ${authorization}`]),
    "Connection: close",
    "\r\n",
  ].join("\r\n");
};

/** As much of an answer as is waited for: its head. */
const longestHead = 16_384;

/** Sends the request and reads the head of the answer, or what came of it. @throws Trouble */
const headOf = (
  socket: Socket,
  request: string,
  { silenceMs, signal }: { readonly silenceMs: number; readonly signal: AbortSignal },
): Promise<string> =>
  new Promise((resolve, reject) => {
    let head = "";
    const abort = () => reject(new Trouble("ABORTED", { cause: signal.reason }));
    const end = () =>
      /^HTTP\/1\.[01] \d{3}/.test(head) ? resolve(head) : reject(new Trouble(head === "" ? "CUT" : "NOT_HTTP"));
    signal.addEventListener("abort", abort, { once: true });
    socket.setTimeout(silenceMs, () => reject(new Trouble("SILENT")));
    socket.on("data", (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (head.includes("\r\n\r\n") || head.length > longestHead) end();
    });
    socket.once("error", reject).once("end", end).once("close", end);
    socket.write(request);
  });

const read = (head: string): Pick<Probed, "status" | "isPage"> & { readonly date: number | undefined } => {
  const [, date = ""] = /^date:\s*(.+?)\s*$/im.exec(head) ?? [];
  const ms = Date.parse(date);
  const isPage = /^content-type:\s*(text\/html|application\/xhtml)/im.test(head);
  return { status: Number(head.slice(9, 12)), isPage, date: Number.isNaN(ms) ? undefined : ms };
};

const endOfCertificate = (socket: Socket): number | undefined => {
  if (!("getPeerCertificate" in socket) || typeof socket.getPeerCertificate !== "function") return undefined;
  const certificate: { readonly valid_to?: unknown } = socket.getPeerCertificate();
  const ms = Date.parse(String(certificate.valid_to));
  return Number.isNaN(ms) ? undefined : ms;
};

const failureOf = (
  trouble: Trouble,
  { route, of, silenceMs }: { readonly route: Route; readonly of: EndpointHost; readonly silenceMs: number },
): Failure => {
  const { code, status } = trouble;
  const ms = code === "SILENT" ? silenceMs : code === "CONNECT_TIMEOUT" ? connectTimeoutMs : undefined;
  const proxy = route.proxy === undefined ? undefined : hostAndPort(route.proxy.address);
  const setting = settingOf[of];
  return new Failure(
    "no-connection",
    { code, to: hostAndPort(route.to), proxy, status, ms, tries: 1, setting },
    { where: { setting }, cause: trouble },
  );
};
