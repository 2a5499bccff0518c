/** Makes failures of replies and of transport errors. */

import type { Credential, EndpointHost } from "../contract/endpoint.ts";
import type { About, Failure } from "../failure.ts";
import { parsedJson } from "../json/walk.ts";
import type { ClientOptions } from "./client.ts";
import {
  addressWrong,
  credentialRefused,
  noConnection,
  nothingThere,
  redirected,
  replyTooLong,
  replyUnreadable,
  requestRefused,
  serviceUnavailable,
} from "./failures.ts";
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

const aboutOf = ({ target: { endpoint, url } }: Asked, status?: number, said?: string): About => ({
  where: { setting: settingOf[endpoint.host] },
  http: { method: endpoint.method, url, status, said },
});

/** The statuses that say "not now" (promises.md, the table of outcomes): worth another try where repeating is safe. */
export const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** What a failure needs of a reply. */
export interface ReplyFacts {
  readonly headers: Readonly<Record<string, string>>;
  /** Its body, decoded, as much as there is. */
  readonly bytes: Uint8Array;
  /** How long the service asks to wait; undefined where it asks nothing that can be read. */
  readonly retryAfterMs: number | undefined;
}

/** Returns the failure for a reply that is not a success. */
export const failureOfStatus = (asked: Asked, status: number, reply: ReplyFacts): Failure => {
  const { kind, message } = saidBy(reply.bytes);
  const about = aboutOf(asked, status, message);
  const { endpoint, url } = asked.target;
  const setting = settingOf[endpoint.host];
  if (status === 401 || status === 403) {
    const from = asked.credential?.from;
    const project = endpoint.projectHeader || endpoint.use === "calls" ? asked.options.project?.value : null;
    return credentialRefused({ status, from, project }, about);
  }
  if (status === 404) {
    return (kind === "json" ? nothingThere : addressWrong)(endpoint.name, setting, about);
  }
  if (status >= 300 && status < 400) {
    const { location = "" } = reply.headers;
    const to = location !== "" && URL.canParse(location, url) ? new URL(location, url) : undefined;
    // A query can have secrets.
    return redirected(to && `${to.origin}${to.pathname}`, setting, about);
  }
  if (isPassing(status)) {
    return serviceUnavailable({ status, askedMs: reply.retryAfterMs, tries: asked.tries }, about);
  }
  return requestRefused(status, about, status === 415 ? asked.encoding : undefined);
};

/** Returns the failure for a reply that is not complete. */
export const failureOfTransport = (asked: Asked, error: TransportError, status?: number): Failure => {
  if (error.code === "TOO_LONG") return tooLong(asked, status);
  const setting = settingOf[asked.target.endpoint.host];
  return connectionFailure(error, { ...asked, setting }, aboutOf(asked, status));
};

/** Returns the failure for a transport error on the way to an address. */
export const connectionFailure = (
  error: TransportError,
  { route, silenceMs, tries, setting }: Pick<Asked, "route" | "silenceMs" | "tries"> & { readonly setting: string },
  about: About,
): Failure => {
  const { code, status } = error;
  const ms = code === "SILENT" ? silenceMs : code === "CONNECT_TIMEOUT" ? connectTimeoutMs : undefined;
  const data = { code, to: hostAndPort(route.to), proxy: proxyOn(route), status, ms, tries, setting };
  return noConnection(data, { ...about, cause: error });
};

const hostAndPort = ({ hostname, port }: Route["to"]): string =>
  hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;

/** Host and port of the proxy on a way; undefined where there is none. */
export const proxyOn = ({ proxy }: Route): string | undefined =>
  proxy === undefined ? undefined : hostAndPort(proxy.address);

/** The largest reply to a read that is read, decoded: lists of today are a thousandth of it, and V8's strings end at twice it. */
export const maxReplyBytes = 256 * 1024 * 1024;

/** Returns the failure for a reply over the limit. */
export const tooLong = (asked: Asked, status: number | undefined): Failure =>
  replyTooLong(maxReplyBytes, aboutOf(asked, status));

/** Returns the failure for a success that is not the reply that the interface has. */
export const unreadable = (
  asked: Asked,
  { status, bytes, at, encoding = false }: { status: number; bytes: Uint8Array; at?: string; encoding?: boolean },
): Failure => {
  const { kind, message } = saidBy(bytes);
  const setting = settingOf[asked.target.endpoint.host];
  return encoding
    ? replyUnreadable({ came: "unknown-encoding", at, setting }, aboutOf(asked, status))
    : replyUnreadable({ came: kind, at, setting }, aboutOf(asked, status, message));
};

/** A body's kind, and its message; undefined if there is none to be found. Never made safe here. */
interface Said {
  readonly kind: "json" | "html" | "text" | "empty";
  readonly message: string | undefined;
}

/** Characters of a message: more than a person reads. It is cut to that where it is printed, when no secret is left in it. */
const maxMessage = 128 * 1024;

/** Bytes of a body in which a message is looked for: echoed inputs can be as large as a request. */
const maxSearched = 4 * 1024 * 1024;

/** Reads what a body says (interface 7). */
const saidBy = (bytes: Uint8Array): Said => {
  const text = new TextDecoder().decode(bytes.subarray(0, maxSearched)).trim();
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
const maxItems = 3;

const listOf = (items: readonly unknown[], depth: number): string | undefined => {
  const messages = [...new Set(items.flatMap((item) => messageOf(item, depth + 1) ?? []))];
  const more = messages.length - maxItems;
  const said = messages.slice(0, maxItems).join("; ");
  return said === "" ? undefined : `${said}${more > 0 ? `; and ${more} more` : ""}`;
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
  message !== undefined && message.length > maxMessage ? `${message.slice(0, maxMessage)} …` : message;
