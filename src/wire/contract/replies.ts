/** Reads replies without checking fields (decision 8). */
import { isUtf8 } from "node:buffer";
import {
  isObject,
  type JsonObject,
  parseJson,
  parseWithDigits,
  replaceNonFinite,
  toBuffer,
} from "../../json/json-bytes.ts";
import * as raw from "../../json/raw-json.ts";
import { findFault } from "../../json/reader.ts";

export const toText = (value: unknown) => (typeof value === "string" ? value : undefined);

export const toTexts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;

/** Undefined if the reply is not JSON. `invalidPath` is a dotted path. */
type ReplyResult<Value> = { readonly value: Value } | { readonly invalidPath: string } | undefined;
export type ReplyReader<Value> = (bytes: Uint8Array, headers?: Headers) => ReplyResult<Value>;

export type ReplyEntry = Readonly<{
  value: JsonObject;
  raw: raw.RawJson;
  /** The index in the list, which can contain null elements. */
  position: number;
}>;

export type ReplyList = Readonly<{
  document: raw.RawJson;
  entries: readonly ReplyEntry[];
  nullCount: number;
  /** The key or header that announces more elements, which the interface cannot request. */
  partialMark: string | undefined;
  isUtf8: boolean;
}>;

type Headers = Readonly<Record<string, string>>;

/** Assumed: the interface has no pages, so these are the names that other services use. */
const moreKey = /^(?:has_?more|has_?next(?:_?page)?|more|(?:is_?)?truncated|(?:is_?)?partial|incomplete)$/i;
const nextKey =
  /^(?:next|after|cursor|continuation)$|^(?:next|continuation)_?(?:page|url|uri|link|href|token|cursor|page_?token|offset)$/i;
const totalKey =
  /^(?:total|count_?total|(?:total|full)_?(?:count|size|results|items|models|records|elements|entries))$/i;
const pagesKey = /^(?:total_?pages|page_?count|pages|last_?page)$/i;
const pageKey = /^(?:page|current_?page|page_?number)$/i;
const wrapperKey = /^(?:links|_links|meta|_meta|metadata|pagination|paging|page|page_?info|cursors)$/i;

/** @param holder the reply without its list, or an object in it */
const findMark = (holder: JsonObject, length: number, depth = 0): string | undefined => {
  const members = Object.entries(holder);
  // An explicit `false` is more reliable than a cursor or a total.
  if (members.some(([key, value]) => moreKey.test(key) && /^has/i.test(key) && value === false)) return undefined;
  const page = Number(members.find(([key]) => pageKey.test(key))?.[1] ?? 1);
  for (const [key, value] of members) {
    if (moreKey.test(key) && value === true) return key;
    if (nextKey.test(key) && isStated(value)) return key;
    if (totalKey.test(key) && Number(value) > length) return key;
    if (pagesKey.test(key) && typeof value === "number" && value > page) return key;
    const inner = wrapperKey.test(key) && isObject(value) && depth < 2 ? findMark(value, length, depth + 1) : undefined;
    if (inner !== undefined) return `${key}.${inner}`;
  }
  return undefined;
};

const isStated = (value: unknown) =>
  typeof value === "string" ? value.trim() !== "" : value === true || typeof value === "number" || isObject(value);

const findHeader = (headers: Headers, length: number) => {
  if (/;\s*rel\s*=\s*(?:"[^"]*\bnext\b|next\b)/i.test(headers.link ?? "")) return "the header Link";
  if (Number(/^(?!bytes).*\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1]) > length)
    return "the header Content-Range";
  // `X-Next-Page` means the same as the key `next_page`, and `X-Pagination-Total` the same as `total`.
  const marks = Object.entries(headers).map(([name, text]) => {
    const key = name.replace(/^(?:x-)?(?:(?:pagination|paging)-)?/, "").replaceAll("-", "_");
    return { name, key, value: parseJson(text)?.value ?? text };
  });
  const [key] = findMark(Object.fromEntries(marks.map((mark) => [mark.key, mark.value])), length)?.split(".") ?? [];
  const name = marks.find((mark) => mark.key === key)?.name;
  return name && `the header ${name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())}`;
};

/** Reads `{"data":[{…},null,…]}` or `{"data":null}`. */
export const readListReply: ReplyReader<ReplyList> = (bytes, headers = {}) => {
  const text = toBuffer(bytes).toString("utf8");
  const parsed = parseWithDigits(text);
  if (!parsed) return undefined;
  if (!isObject(parsed.value)) return { invalidPath: "" };
  const { data, ...reply } = parsed.value;
  const read = raw.parseRawJson(text);
  // Some services write an empty list as null.
  const list: unknown = data === null ? [] : data;
  if (!Array.isArray(list) || (list.length === 0 && hasError(read))) return { invalidPath: "data" };
  const wrong = list.findIndex((item) => item !== null && !isObject(item));
  if (wrong >= 0) return { invalidPath: `data.${wrong}` };
  const entries = raw.itemsOf(raw.findMember(read, "data")).flatMap((own, position): ReplyEntry | readonly [] => {
    const value: unknown = list[position];
    return isObject(value) ? { value, raw: own, position } : [];
  });
  const withList = (member: raw.RawMember) =>
    member.key === "data" ? { ...member, value: raw.toRawJson([]) } : member;
  const document = data === null ? raw.toRawObject(read.members.map(withList)) : read;
  const stated = findMark(reply, list.length) ?? findHeader(headers, list.length);
  const partialMark = stated ?? (hasError(read) ? "error" : undefined);
  return { value: { document, entries, nullCount: list.length - entries.length, partialMark, isUtf8: isUtf8(bytes) } };
};

/** True if the reply has a stated `error`, as in `{"data":null,"error":{…}}`. */
const hasError = (reply: raw.RawJson) =>
  !["null", '""', "false"].includes(raw.findMember(reply, "error")?.json ?? "null");

/** Reads a reply with a member that is an object or null. NaN and Infinity become texts. */
export const objectReader =
  (member: string): ReplyReader<raw.RawJson> =>
  (bytes) => {
    if (findFault(bytes)) {
      const finite = replaceNonFinite(toBuffer(bytes), JSON.stringify);
      return finite.length > bytes.length ? objectReader(member)(finite) : undefined;
    }
    const value = raw.parseRawJson(toBuffer(bytes).toString("utf8"));
    const object = raw.findMember(value, member);
    if (object?.kind === "object" || (object && raw.isAbsent(object) && !hasError(value))) return { value };
    return { invalidPath: value.kind === "object" ? member : "" };
  };
