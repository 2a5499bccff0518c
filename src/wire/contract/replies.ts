/** Reads replies without checking fields (decision 31). */
import * as jsonBytes from "../../json/json-bytes.ts";
import * as table from "../../json/table.ts";

export const toText = (value: unknown) => (typeof value === "string" ? value : undefined);

export const toTexts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;

/** Undefined if the reply is not JSON. `invalidPath` is a dotted path. `json` replaces bytes that are not JSON. */
type ReplyResult<Value> =
  | { readonly value: Value; readonly json?: Uint8Array }
  | { readonly invalidPath: string }
  | undefined;
export type ReplyReader<Value> = (bytes: Uint8Array, headers?: Headers) => ReplyResult<Value>;

export type ReplyEntry = Readonly<{
  value: jsonBytes.JsonObject;
  raw: Uint8Array;
  /** The index in the list, which can contain null elements. */
  position: number;
}>;

export type ReplyList = Readonly<{
  bytes: Uint8Array;
  entries: readonly ReplyEntry[];
  nullCount: number;
  /** The key or header that announces more elements, which the interface cannot request. */
  partialMark: string | undefined;
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
const findMark = (holder: jsonBytes.JsonObject, length: number, depth = 0): string | undefined => {
  const members = Object.entries(holder);
  // An explicit `false` is more reliable than a cursor or a total.
  if (members.some(([key, value]) => moreKey.test(key) && /^has/i.test(key) && value === false)) return undefined;
  const page = Number(members.find(([key]) => pageKey.test(key))?.[1] ?? 1);
  for (const [key, value] of members) {
    if (moreKey.test(key) && value === true) return key;
    if (nextKey.test(key) && isStated(value)) return key;
    if (totalKey.test(key) && Number(value) > length) return key;
    if (pagesKey.test(key) && typeof value === "number" && value > page) return key;
    const inner =
      wrapperKey.test(key) && jsonBytes.isObject(value) && depth < 2 ? findMark(value, length, depth + 1) : undefined;
    if (inner !== undefined) return `${key}.${inner}`;
  }
  return undefined;
};

const isStated = (value: unknown) =>
  typeof value === "string"
    ? value.trim() !== ""
    : value === true || typeof value === "number" || jsonBytes.isObject(value);

const findHeader = (headers: Headers, length: number) => {
  if (/;\s*rel\s*=\s*(?:"[^"]*\bnext\b|next\b)/i.test(headers.link ?? "")) return "the header Link";
  if (Number(/^(?!bytes).*\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1]) > length)
    return "the header Content-Range";
  // `X-Next-Page` means the same as the key `next_page`, and `X-Pagination-Total` the same as `total`.
  const marks = Object.entries(headers).map(([name, text]) => {
    const key = name.replace(/^(?:x-)?(?:(?:pagination|paging)-)?/, "").replaceAll("-", "_");
    return { name, key, value: jsonBytes.parseJson(text)?.value ?? text };
  });
  const [key] = findMark(Object.fromEntries(marks.map((mark) => [mark.key, mark.value])), length)?.split(".") ?? [];
  const name = marks.find((mark) => mark.key === key)?.name;
  return name && `the header ${name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())}`;
};

const readListRoot = table.openRootReader(["data"]);

/** Reads `{"data":[{…},null,…]}` or `{"data":null}`. */
export const readListReply: ReplyReader<ReplyList> = (bytes, headers = {}) => {
  const root = readListRoot(bytes);
  const data = table.memberAt(root, "data");
  if (!root) return undefined;
  if (!data) return { invalidPath: table.firstByteOf(root) === jsonBytes.openBrace ? "data" : "" };
  const { start, end } = table.spanOf(data);
  if (bytes[start] === letterN && !hasError(root)) {
    // Some services write an empty list as null.
    return readListReply(Buffer.concat([bytes.subarray(0, start), Buffer.from("[]"), bytes.subarray(end)]), headers);
  }
  if (bytes[start] !== jsonBytes.openBracket) return { invalidPath: "data" };
  const elements: Uint8Array[] = [];
  for (const item of jsonBytes.walkItems(bytes, start)) {
    if (bytes[item.start] !== jsonBytes.openBrace && bytes[item.start] !== letterN)
      return { invalidPath: `data.${elements.length}` };
    elements.push(bytes.subarray(item.start, item.end));
  }
  if (elements.length === 0 && hasError(root)) return { invalidPath: "data" };
  const entries = elements.flatMap((raw, position) =>
    raw[0] === letterN ? [] : [{ value: JSON.parse(Buffer.from(raw).toString()), raw, position }],
  );
  const members = Array.from(table.childrenOf(root)).filter(([key]) => key !== "data");
  const reply = Object.fromEntries(members.map(([key, value]) => [key, table.parseValue(value)]));
  const stated = findMark(reply, elements.length) ?? findHeader(headers, elements.length);
  const partialMark = stated ?? (hasError(root) ? "error" : undefined);
  return { value: { bytes, entries, nullCount: elements.length - entries.length, partialMark } };
};

const letterN = 0x6e;

/** True if the reply has a stated `error`, as in `{"data":null,"error":{…}}`. */
const hasError = (root: table.JsonValue) => {
  const error = table.memberAt(root, "error");
  return (
    error !== undefined &&
    !["null", '""', "false"].includes(jsonBytes.sliceText(error.table.bytes, table.spanOf(error)))
  );
};

/** Reads a member that is an object or null. Returns the object as bytes, in which NaN and Infinity become texts. */
export const objectReader =
  (member: string): ReplyReader<Uint8Array | null> =>
  (bytes) => {
    const root = table.readRoot(bytes);
    if (!root) {
      const json = jsonBytes.replaceNonFinite(jsonBytes.toBuffer(bytes), JSON.stringify);
      const result = json.length > bytes.length ? objectReader(member)(json) : undefined;
      return result && "value" in result ? { ...result, json } : result;
    }
    const json = table.memberAt(root, member);
    if (!json) return { invalidPath: table.firstByteOf(root) === jsonBytes.openBrace ? member : "" };
    if (table.firstByteOf(json) === letterN && !hasError(root)) return { value: null };
    if (table.firstByteOf(json) !== jsonBytes.openBrace) return { invalidPath: member };
    const { start, end } = table.spanOf(json);
    return { value: bytes.subarray(start, end) };
  };
