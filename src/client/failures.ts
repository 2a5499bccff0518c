/** What a run says that ends with an answer or with trouble: one failure out of each. */
import type { Credential, EndpointHost } from "../contract/endpoint.ts";
import { type About, Failure, type HttpFacts, type Where } from "../failure.ts";
import { parsedJson } from "../json/walk.ts";
import type { ClientOptions } from "./client.ts";
import type { Target } from "./request.ts";
import { connectTimeoutMs, type Route } from "./route.ts";
import type { TransportError } from "./transport-error.ts";

/** The request that a failure is about. */
export interface Asked {
  readonly options: ClientOptions;
  readonly target: Target;
  readonly route: Route;
  readonly credential: Credential | undefined;
  readonly silenceMs: number;
  readonly tries: number;
  /** How its body is compressed. */
  readonly encoding?: string | undefined;
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
    status,
    said: said?.message,
  },
});

/** The statuses that say "not now" (promises.md, the table of outcomes): worth another try where repeating is safe. */
export const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** What of an answer tells what it means. */
export interface ReplyFacts {
  readonly headers: Readonly<Record<string, string>>;
  /** Its body, decoded, as much as there is. */
  readonly bytes: Uint8Array;
  /** How long the service asks to wait; undefined where it asks nothing that can be read. */
  readonly retryAfterMs: number | undefined;
}

/** What an answer that is not a success means. */
export const failureOfStatus = (asked: Asked, status: number, answer: ReplyFacts): Failure => {
  const said = saidBy(answer.bytes);
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
    return new Failure("redirected", { to: newAddress(asked, answer.headers.location), setting }, about);
  }
  if (isPassing(status))
    return new Failure("service-unavailable", { status, askedMs: answer.retryAfterMs, tries: asked.tries }, about);
  return new Failure("request-refused", { status, ...(status === 415 ? { encoding: asked.encoding } : {}) }, about);
};

/** Where a redirect leads, without what a query may hold. */
const newAddress = ({ target }: Asked, location: string | undefined): string | undefined => {
  if (location === undefined || !URL.canParse(location, target.url)) return undefined;
  const { origin, pathname } = new URL(location, target.url);
  return `${origin}${pathname}`;
};

/** What it means that no whole answer came. */
export const failureOfTransport = (asked: Asked, error: TransportError, status?: number): Failure => {
  if (error.code === "TOO_LONG") return tooLong(asked, status);
  const setting = settingOf[asked.target.endpoint.host];
  return noConnection(error, { ...asked, setting }, aboutOf(asked, status));
};

/** What trouble on the way to an address means. */
export const noConnection = (
  error: TransportError,
  { route, silenceMs, tries, setting }: Pick<Asked, "route" | "silenceMs" | "tries"> & { readonly setting: string },
  about: About,
): Failure<"no-connection"> => {
  const { code, status } = error;
  const ms = code === "SILENT" ? silenceMs : code === "CONNECT_TIMEOUT" ? connectTimeoutMs : undefined;
  const data = { code, to: hostAndPort(route.to), proxy: proxyOn(route), status, ms, tries, setting };
  return new Failure("no-connection", data, { ...about, cause: error });
};

const hostAndPort = ({ hostname, port }: Route["to"]): string =>
  hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;

/** Host and port of the proxy on a way; undefined where there is none. */
export const proxyOn = ({ proxy }: Route): string | undefined =>
  proxy === undefined ? undefined : hostAndPort(proxy.address);

/** The largest reply to a read that is read, decoded: lists of today are a thousandth of it, and V8's strings end at twice it. */
export const maxReplyBytes = 256 * 1024 * 1024;

/** What it means that a reply is over the bound. */
export const tooLong = (asked: Asked, status: number | undefined): Failure =>
  new Failure("reply-too-long", { limitBytes: maxReplyBytes }, aboutOf(asked, status));

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

interface Said {
  readonly kind: "json" | "html" | "text" | "empty";
  /** Its message, of bounded length; undefined where there is none to be found. Never made safe here. */
  readonly message: string | undefined;
}

/** More than a person reads of a message: it is cut to that where it is printed, when no secret is left in it. */
const longestMessage = 128 * 1024;

/** As much of a body as is looked at: messages stand at its beginning, and echoed inputs can be as large as a request. */
const longestLook = 4 * 1024 * 1024;

/** Reads what a body says (interface 7). */
const saidBy = (bytes: Uint8Array): Said => {
  const text = new TextDecoder().decode(bytes.subarray(0, longestLook)).trim();
  if (text === "") return { kind: "empty", message: undefined };
  if (/^<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return { kind: "html", message: cut(titleOf(text)) };
  if (/^[[{"]/.test(text) || text === "null") {
    const parsed = parsedJson(text);
    if (parsed !== undefined) return { kind: "json", message: cut(messageOf(parsed.value)) };
  }
  return { kind: "text", message: cut(text) };
};

/** The keys under which messages stand, the more telling first. */
const messageKeys = ["message", "detail", "reason", "error_description", "title", "msg", "error", "errors"];

const messageOf = (value: unknown, depth = 0): string | undefined => {
  if (typeof value === "string") return value.trim() === "" ? undefined : value.trim();
  if (typeof value !== "object" || value === null || depth > 3) return undefined;
  if (Array.isArray(value)) return listOf(value, depth);
  const members = new Map<string, unknown>(Object.entries(value));
  if (members.has("msg") && members.has("loc")) return itemOf(members);
  // `{"error": {"message": …}}` and `{"error": "…", "message": …}`: an object is more telling than what stands beside it.
  const inner = members.get("error");
  const nested = typeof inner === "object" && inner !== null ? messageOf(inner, depth + 1) : undefined;
  if (nested !== undefined) return nested;
  for (const key of messageKeys) {
    const message = messageOf(members.get(key), depth + 1);
    if (message !== undefined) return message;
  }
  return undefined;
};

/** More items than this say the same again, once for each branch of a union. */
const mostItems = 3;

const listOf = (items: readonly unknown[], depth: number): string | undefined => {
  const messages = [...new Set(items.flatMap((item) => messageOf(item, depth + 1) ?? []))];
  if (messages.length === 0) return undefined;
  const more = messages.length - mostItems;
  return messages.slice(0, mostItems).join("; ") + (more > 0 ? `; and ${more} more` : "");
};

/** A validation item (interface 7): where, then what. */
const itemOf = (item: ReadonlyMap<string, unknown>): string | undefined => {
  const loc = item.get("loc");
  const place = Array.isArray(loc) ? loc.map(String).join(".") : "";
  const message = messageOf(item.get("msg"));
  return message === undefined || place === "" ? message : `${place}: ${message}`;
};

const titleOf = (html: string): string | undefined => {
  const title = /<title[^>]*>([^<]*)/i.exec(html)?.[1] ?? /<h1[^>]*>([^<]*)/i.exec(html)?.[1];
  return title?.replace(/\s+/g, " ").trim() || undefined;
};

const cut = (message: string | undefined): string | undefined =>
  message !== undefined && message.length > longestMessage ? `${message.slice(0, longestMessage)} …` : message;
