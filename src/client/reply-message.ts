/** Finds the message in the body of an error (interface 7). It is not safe to print yet. */
import { getMember, isObject, parseJson } from "../json/walk.ts";

const maxMessageLength = 128 * 1024;

/** Bytes of a body that are searched: echoed inputs can be as large as a request. */
const maxSearchedBytes = 4 * 1024 * 1024;

export const findMessage = (
  bytes: Uint8Array,
): { readonly kind: "json" | "html" | "text" | "empty"; readonly message?: string | undefined } => {
  const text = new TextDecoder().decode(bytes.subarray(0, maxSearchedBytes)).trim();
  if (text === "") return { kind: "empty" };
  if (/^<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return { kind: "html", message: truncate(findTitle(text)) };
  const parsed = /^[[{"]/.test(text) || text === "null" ? parseJson(text) : undefined;
  if (parsed === undefined) return { kind: "text", message: truncate(text) };
  return { kind: "json", message: truncate(findText(parsed.value)) };
};

const truncate = (message: string | undefined): string | undefined =>
  message !== undefined && message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)} …` : message;

const findTitle = (html: string): string | undefined =>
  (/<title[^>]*>([^<]*)/i.exec(html) ?? /<h1[^>]*>([^<]*)/i.exec(html))?.[1]?.replace(/\s+/g, " ").trim() || undefined;

const messageKeys = ["message", "detail", "reason", "error_description", "title", "msg", "error", "errors"];

/** Further items repeat the first ones, once for each branch of a union. */
const maxItems = 3;

const findText = (value: unknown, depth = 0): string | undefined => {
  if (typeof value === "string") return value.trim() || undefined;
  if (depth > 3) return undefined;
  if (Array.isArray(value)) {
    const messages = [...new Set(value.flatMap((item) => findText(item, depth + 1) ?? []))];
    const more = messages.length > maxItems ? `; and ${messages.length - maxItems} more` : "";
    return messages.length === 0 ? undefined : messages.slice(0, maxItems).join("; ") + more;
  }
  if (!isObject(value)) return undefined;
  const { loc, msg, error } = value;
  if (loc !== undefined && msg !== undefined) {
    const path = Array.isArray(loc) ? loc.map(String).join(".") : "";
    const message = findText(msg);
    return message === undefined || path === "" ? message : `${path}: ${message}`;
  }
  // An object in `error` is more specific than the members next to it.
  const inner = isObject(error) || Array.isArray(error) ? findText(error, depth + 1) : undefined;
  if (inner !== undefined) return inner;
  for (const key of messageKeys) {
    const message = findText(getMember(value, key), depth + 1);
    if (message !== undefined) return message;
  }
  return undefined;
};
