/** What a run says that ends with an answer or with trouble: one failure out of each. */
import type { Credential, EndpointHost } from "../contract/endpoint.ts";
import { Failure, type HttpFacts, type Where } from "../failure.ts";
import type { ClientOptions } from "./client.ts";
import type { Tried } from "./once.ts";
import type { Target } from "./request.ts";
import type { Route } from "./route.ts";
import { type Said, saidBy } from "./said.ts";
import { connectTimeoutMs } from "./socket.ts";
import type { Trouble } from "./trouble.ts";

/** The request that a failure is about. */
export interface Asked {
  readonly options: ClientOptions;
  readonly target: Target;
  readonly route: Route;
  readonly credential: Credential | undefined;
  readonly silenceMs: number;
  /** How many times it was tried. */
  readonly tries: number;
}

/** The setting that holds the address of a host of the contract. */
export const settingOf = {
  base: "base_url",
  inference: "inference_base_url",
  log: "log_base_url",
} as const satisfies Record<EndpointHost, string>;

const aboutOf = (
  { target }: Asked,
  status?: number,
  said?: Said,
): { readonly http: HttpFacts; readonly where: Where } => ({
  where: { setting: settingOf[target.endpoint.host] },
  http: {
    method: target.endpoint.method,
    url: target.url,
    ...(status === undefined ? {} : { status }),
    ...(said?.message === undefined ? {} : { said: said.message }),
  },
});

/** The statuses that say "not now" (promises.md, the table of outcomes): worth another try where repeating is safe. */
export const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** What an answer that is not a success means. */
export const failureOfStatus = (asked: Asked, status: number, tried: Tried, askedMs: number | undefined): Failure => {
  const said = saidBy(tried.bytes);
  const about = aboutOf(asked, status, said);
  const { endpoint } = asked.target;
  const setting = settingOf[endpoint.host];
  if (status === 401 || status === 403) {
    const from = asked.credential?.from;
    const project = endpoint.projectHeader || endpoint.use === "calls" ? asked.options.project?.value : null;
    return new Failure("credential-refused", { status, from, project }, about);
  }
  if (status === 404) {
    return said.kind === "json"
      ? new Failure("nothing-there", { operation: endpoint.name, setting }, about)
      : new Failure("address-wrong", { operation: endpoint.name, setting }, about);
  }
  if (status >= 300 && status < 400) {
    return new Failure("redirected", { to: newAddress(asked, tried.headers.location), setting }, about);
  }
  if (isPassing(status)) return new Failure("service-unavailable", { status, askedMs, tries: asked.tries }, about);
  return new Failure("request-refused", { status }, about);
};

/** Where a redirect leads, without what a query may hold. */
const newAddress = ({ target }: Asked, location: string | undefined): string | undefined => {
  if (location === undefined || !URL.canParse(location, target.url)) return undefined;
  const { origin, pathname } = new URL(location, target.url);
  return `${origin}${pathname}`;
};

/** What it means that no whole answer came. */
export const failureOfTrouble = (asked: Asked, trouble: Trouble, status?: number): Failure => {
  const { code } = trouble;
  if (code === "TOO_LONG") return tooLong(asked, status);
  return new Failure(
    "no-connection",
    {
      code,
      to: hostAndPort(asked.route.to),
      proxy: asked.route.proxy === undefined ? undefined : hostAndPort(asked.route.proxy.address),
      status: trouble.status,
      ms: code === "SILENT" ? asked.silenceMs : code === "CONNECT_TIMEOUT" ? connectTimeoutMs : undefined,
      tries: asked.tries,
      setting: settingOf[asked.target.endpoint.host],
    },
    { ...aboutOf(asked, status), cause: trouble },
  );
};

export const hostAndPort = ({ hostname, port }: Route["to"]): string =>
  hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;

/** The largest reply to a read that is read, decoded: lists of today are a thousandth of it, and V8's strings end at twice it. */
export const largestReplyBytes = 256 * 1024 * 1024;

/** What it means that a reply is over the bound. */
export const tooLong = (asked: Asked, status: number | undefined): Failure =>
  new Failure("reply-too-long", { limitBytes: largestReplyBytes }, aboutOf(asked, status));

/** What it means that a success is not the reply that the interface has. */
export const unreadable = (
  asked: Asked,
  about: { readonly status: number; readonly bytes: Uint8Array; readonly at?: string; readonly encoding?: boolean },
): Failure => {
  const said = saidBy(about.bytes);
  return new Failure(
    "reply-unreadable",
    {
      came: about.encoding === true ? "unknown-encoding" : said.kind,
      at: about.at,
      setting: settingOf[asked.target.endpoint.host],
    },
    aboutOf(asked, about.status, about.encoding === true ? undefined : said),
  );
};
