/** Decompresses the bodies of replies, and finds web pages, messages and errors in them. */
import type { Transform } from "node:stream";
import { isObject, type JsonObject, openBracket, parseJson } from "../../json/json-bytes.ts";
import { compactJson } from "../../json/raw-json.ts";
import * as json from "../../json/table.ts";
import { getErrorCode } from "../../system/files.ts";
import { cutText, isBlank } from "../../text/sentences.ts";
import type { ExchangeResult } from "./exchange.ts";
import { TransportError } from "./transport-error.ts";

export type ReplyBody = Pick<ExchangeResult, "bytes" | "headers" | "error">;

/** If the body cannot be decompressed, `bytes` is its decompressed beginning. */
export const decodeBody = async <Reply extends ReplyBody>(reply: Reply, maxLength: number): Promise<Reply> => {
  const encoding = reply.headers["content-encoding"]?.trim().toLowerCase() || "identity";
  if (reply.bytes.length === 0 || encoding === "identity") return reply;
  const { bytes, code } = await decompress(reply.bytes, encoding, maxLength);
  return { ...reply, bytes, error: reply.error ?? (code === undefined ? undefined : new TransportError(code)) };
};

type Decoded = Readonly<{ bytes: Uint8Array; code?: string | undefined }>;

const decompress = async (bytes: Uint8Array, encoding: string, maxLength: number): Promise<Decoded> => {
  const { createBrotliDecompress, createGunzip } = await import("node:zlib");
  if (encoding === "br") return await collect(createBrotliDecompress(), bytes, maxLength);
  if (encoding === "gzip" || encoding === "x-gzip") return await collect(createGunzip(), bytes, maxLength);
  return { bytes: Buffer.alloc(0), code: "UNKNOWN_ENCODING" };
};

const collect = (decompressor: Transform, bytes: Uint8Array, maxLength: number) =>
  new Promise<Decoded>((resolve) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const end = (code?: string) => {
      decompressor.destroy();
      resolve({ bytes: Buffer.concat(pieces), code });
    };
    decompressor.on("data", (piece: Buffer) => {
      pieces.push(piece.subarray(0, maxLength - length));
      length += piece.length;
      if (length > maxLength) end("TOO_LONG");
    });
    decompressor.on("end", () => end());
    decompressor.on("error", (thrown) => end(getErrorCode(thrown) === "Z_BUF_ERROR" ? "CUT" : "BAD_ENCODING"));
    decompressor.end(bytes);
  });

/** The tags that begin a page (WHATWG MIME Sniffing, 7.1), and others that error pages begin with. */
const pageStart =
  /^<(?:!doctype|html|head|body|title|meta|link|base|style|(no)?script|iframe|frameset|h[1-6r]|div|font|table|center|form|main|section|article|header|img|svg|span|pre|ul|a|b|br|p)(?![\w:.-])/i;

/** A web page comes from a gateway, not from the service. True also for a cut body that may be the beginning of one. */
export const isWebPage = ({ bytes, headers, error }: ReplyBody) => {
  const isNamedPage = /html/i.test(headers["content-type"] ?? "");
  const from = Math.max(
    0,
    bytes.findIndex((byte) => byte > 0x20),
  );
  // Without its zeros, UTF-16 is readable enough.
  const decoded = new TextDecoder().decode(bytes.subarray(from, from + maxSearchedBytes)).replaceAll("\0", "");
  const text = decoded.replace(/^[\s\ufeff\ufffd]+/, "");
  if (isNamedPage && text.startsWith("<")) return true;
  const rest = skipProlog(text);
  if (rest === "") return text !== "" || (error !== undefined && isNamedPage);
  return pageStart.test(rest) || (error !== undefined && /^<[!\w-]*$/.test(rest));
};

const maxSearchedBytes = 1024 * 1024;

/** Skips comments and declarations such as `<?xml …?>`. */
const skipProlog = (text: string) => {
  for (let rest = text; ; ) {
    const end = rest.startsWith("<!--") ? "-->" : rest.startsWith("<?") ? "?>" : undefined;
    if (end === undefined) return rest;
    const at = rest.indexOf(end, 2);
    rest = at < 0 ? "" : rest.slice(at + end.length).trimStart();
  }
};

/** Assumed: these words in `type`, `code` and so on mean that waiting for minutes does not help. */
const quotaWords =
  /"(?:error|code|type|reason|status|name|error_code)"\s*:\s*"(?:[\w.-]*_)?(?:insufficient_(?:quota|funds|credits?|balance)|quota_exhausted|billing_(?:hard_limit_reached|not_active)|(?:usage|spend|credit|budget)_limit_(?:reached|exceeded)|out_of_credits?|credits_exhausted)"/i;
const maxQuotaBytes = 2 ** 16;

/** True for a 429 that a later attempt would get, too. */
export const isQuotaUsedUp = (status: number | undefined, bytes: Uint8Array) =>
  status === 429 && quotaWords.test(Buffer.from(bytes.subarray(0, maxQuotaBytes)).toString("latin1"));

/** Reads JSON without the ids of calls. */
export const readReplyJson = json.openBodyReader(["call_ids"]);

/**
 * Returns the failure that an answer with a success status states. vLLM answers `{"object":"error","message":…}`,
 * Gemini `[{"error":…}]`, FastAPI `{"detail":…}`, and OTLP `{"partialSuccess":{"rejectedSpans":"5"}}`.
 */
export const findStatedError = (reply: json.JsonValue | undefined, clean: (text: string) => string = String) => {
  const stated = reply && findFailure([parseSmallMembers(reply)].flat());
  return stated && (clean(findMessage(stated) ?? "") || showJson(json.textOf(reply), clean));
};

const maxParsedBytes = 2 ** 18;

/** A value that is too large to be parsed at once becomes true. */
const parseSmallMembers = (reply: json.JsonValue) => {
  const members = Array.from(json.childrenOf(reply), ([name, value]): readonly [string | number, unknown] => {
    const { start, end } = json.spanOf(value);
    return [name, end - start > maxParsedBytes || json.parseValue(value)];
  });
  return json.firstByteOf(reply) === openBracket ? members.map(([, value]) => value) : Object.fromEntries(members);
};

const statusName = /^(?:object|type|status|code|status_?code|result)$/i;
const failureStatus = /^(?:error|fail(?:ed|ure)?|rejected|partial\w*|[45]\d\d)$/i;
const successName = /^(?:success(?:ful)?|succeeded|accepted|ok)(?:_?count)?$/i;
const failureName =
  /^(?!.*(?:rat[eio]|share|limit|max|allow))(?:num_?|n_|total_?)?(?:error|fail(?:ed|ure)|rejected)[a-z_]*$/i;
const failureTextName = /^(?:errors?|fail(?:ed|ures?)|rejected)$/i;
/** Their content is that of the request, or values that the service computed. */
const contentNames: ReadonlySet<string> = new Set(["metrics", "metadata", "trajectory_groups", "trajectories"]);
const maxReportLevels = 2;

/** Returns the first object that states a failure. */
const findFailure = (values: readonly unknown[], level = 0): JsonObject | undefined => {
  for (const value of values.filter(isObject)) {
    const members = Object.entries(value);
    const hasDetail = level === 0 && value.metrics === undefined && !isBlank(value.detail);
    if (hasDetail || members.some(([name, own]) => statesFailure(name, own, level))) return value;
    const reports = members.flatMap(([name, own]) => (contentNames.has(name) ? [] : own));
    const inner = level < maxReportLevels ? findFailure(reports, level + 1) : undefined;
    if (inner) return inner;
  }
  return undefined;
};

/** A name alone decides nothing: its value must be a text, a list, or a whole number, which protobuf writes as text. */
const statesFailure = (name: string, value: unknown, level: number) => {
  if (successName.test(name)) return value !== null && isBlank(value);
  if (isBlank(value)) return false;
  const text = typeof value === "object" ? "" : `${value}`;
  if (statusName.test(name)) return failureStatus.test(text);
  const number = Number(text);
  if (typeof value === "string" && Number.isNaN(number))
    return failureTextName.test(level === 0 ? name.replace(/_?(?:code|message)$/i, "") : name);
  return failureName.test(name) && (Number.isNaN(number) || Number.isInteger(number));
};

/** The limit is high, because the screen cannot redact a part of a secret. */
const maxMessageLength = 128 * 1024;

/** @param isRefusal true if JSON without a known message is itself the message */
export const inspectBody = (
  { bytes, isWebPage, isRefusal = false }: { bytes: Uint8Array; isWebPage: boolean; isRefusal?: boolean },
  clean: (text: string) => string = String,
) => {
  const text = new TextDecoder().decode(bytes.subarray(0, maxSearchedBytes)).trim();
  const result = (kind: "json" | "html" | "text" | "empty", found: string | undefined) => {
    const message = found && clean(found);
    const isLong = message !== undefined && message.length > maxMessageLength;
    return { kind, message: isLong ? `${cutText(message, maxMessageLength)} …` : message };
  };
  if (isWebPage) {
    // Many tags without an end would take long.
    const head = text.slice(0, 2 ** 14);
    const [, title = ""] =
      /<title[^>]*>(.{0,4000}?)<\/title/is.exec(head) ?? /<h1[^>]*>(.{0,4000}?)<\/h1/is.exec(head) ?? [];
    return result("html", title.replace(/(?:\s|<[^<>]*>)+/g, " ").trim() || undefined);
  }
  if (text === "") return result("empty", undefined);
  const parsed = /^[[{"]/.test(text) || text === "null" ? parseJson(text) : undefined;
  if (!parsed) return result("text", text);
  const isShown = isRefusal && !isBlank(parsed.value);
  return result("json", findMessage(parsed.value) ?? (isShown ? showJson(text, clean) : undefined));
};

const maxShownJson = 200;

const showJson = (text: string, clean: (text: string) => string) => {
  // The screen cannot redact a part of a secret.
  const shown = clean(compactJson(text.slice(0, maxMessageLength)));
  return shown.length > maxShownJson ? `${cutText(shown, maxShownJson)} …` : shown;
};

const messageKeys = ["message", "detail", "reason", "error_description", "title", "msg", "error", "errors", "failed"];

/** Validators repeat a message for each possible type. */
const maxListedMessages = 3;

const findMessage = (value: unknown, depth = 0): string | undefined => {
  if (typeof value === "string") return value.trim() || undefined;
  if (depth > 4) return undefined;
  if (Array.isArray(value)) {
    const messages = [...new Set(value.flatMap((item) => findMessage(item, depth + 1) ?? []))];
    const more = messages.length > maxListedMessages ? `; and ${messages.length - maxListedMessages} more` : "";
    return messages.length === 0 ? undefined : messages.slice(0, maxListedMessages).join("; ") + more;
  }
  if (!isObject(value)) return undefined;
  const { loc, msg, type, error } = value;
  if (loc !== undefined && msg !== undefined) {
    const message = findMessage(msg) ?? findMessage(type);
    const path = Array.isArray(loc) ? loc.join(".") : "";
    return message === undefined || path === "" ? message : `${path}: ${message}`;
  }
  // An object in `error` is more specific than its siblings.
  for (const inner of [typeof error === "object" ? error : undefined, ...messageKeys.map((key) => value[key])]) {
    const message = findMessage(inner, depth + 1);
    if (message !== undefined) return message;
  }
  return undefined;
};
