/** Reads the message that the body of an error has (interface 7). Text in it is not made safe. */
import { getMember, isObject, parseJson } from "../json/walk.ts";

/** A body's kind, and its message; undefined if there is none to be found. */
interface ReplyMessage {
  readonly kind: "json" | "html" | "text" | "empty";
  readonly said: string | undefined;
}

/** Characters of a message: more than a person reads. The screen cuts it further, after its secrets are redacted. */
const maxMessageLength = 128 * 1024;

/** Bytes of a body in which a message is looked for: echoed inputs can be as large as a request. */
const maxSearchedBytes = 4 * 1024 * 1024;

/** Finds what a body is and says. */
export const findMessage = (bytes: Uint8Array): ReplyMessage => {
  const text = new TextDecoder().decode(bytes.subarray(0, maxSearchedBytes)).trim();
  if (text === "") return { kind: "empty", said: undefined };
  if (/^<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return { kind: "html", said: truncate(findTitle(text)) };
  const parsed = /^[[{"]/.test(text) || text === "null" ? parseJson(text) : undefined;
  return parsed === undefined
    ? { kind: "text", said: truncate(text) }
    : { kind: "json", said: truncate(findText(parsed.value)) };
};

const truncate = (message: string | undefined): string | undefined =>
  message !== undefined && message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)} …` : message;

const findTitle = (html: string): string | undefined =>
  (/<title[^>]*>([^<]*)/i.exec(html) ?? /<h1[^>]*>([^<]*)/i.exec(html))?.[1]?.replace(/\s+/g, " ").trim() || undefined;

/** The keys of messages, the more telling first. */
const messageKeys = ["message", "detail", "reason", "error_description", "title", "msg", "error", "errors"];

/** More items than this say the same again, once for each branch of a union. */
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
    // A validation item (interface 7): where, then what.
    const path = Array.isArray(loc) ? loc.map(String).join(".") : "";
    const message = findText(msg);
    return message === undefined || path === "" ? message : `${path}: ${message}`;
  }
  // `{"error": {"message": …}}` and `{"error": "…", "message": …}`: an object is more telling than what is next to it.
  const inner = isObject(error) || Array.isArray(error) ? findText(error, depth + 1) : undefined;
  if (inner !== undefined) return inner;
  for (const key of messageKeys) {
    const message = findText(getMember(value, key), depth + 1);
    if (message !== undefined) return message;
  }
  return undefined;
};
