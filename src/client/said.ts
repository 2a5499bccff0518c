/** What a body that is not the wanted reply says: one message out of every kind of error body. */

/** What a service said, in its own words. */
export interface Said {
  readonly kind: "json" | "html" | "text" | "empty";
  /** Its message, of bounded length; undefined where there is none to be found. Never made safe here. */
  readonly message: string | undefined;
}

/** As much as a person reads of a message. */
const longestMessage = 2000;

/** As much of a body as is looked at: messages stand at its beginning, and echoed inputs can be as large as a request. */
const longestLook = 4 * 1024 * 1024;

/** Reads what a body says (field-facts, "Models and inference"; interface 7). */
export const saidBy = (bytes: Uint8Array): Said => {
  const text = new TextDecoder().decode(bytes.subarray(0, longestLook)).trim();
  if (text === "") return { kind: "empty", message: undefined };
  if (/^<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return { kind: "html", message: cut(titleOf(text)) };
  if (/^[[{"]/.test(text) || text === "null") {
    const parsed = parse(text);
    if (parsed !== undefined) return { kind: "json", message: cut(messageOf(parsed.value)) };
  }
  return { kind: "text", message: cut(text) };
};

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
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
