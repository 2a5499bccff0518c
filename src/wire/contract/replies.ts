/** Reads replies with schemas of their parts (decision 8). */
import { isUtf8 } from "node:buffer";
import * as z from "zod/mini";
import { isObject, type JsonObject, parseWithDigits, replaceNonFinite, toBuffer } from "../../json/json-bytes.ts";
import * as raw from "../../json/raw-json.ts";
import { openBodyReader } from "../../json/table.ts";

/** Undefined if the reply is not JSON. `invalidPath` is a dotted path. */
type ReplyResult<Value> = { readonly value: Value } | { readonly invalidPath: string } | undefined;
export type ReplyReader<Value> = (bytes: Uint8Array, headers?: ReplyHeaders) => ReplyResult<Value>;

export type ReplyEntry<Model> = Readonly<{
  model: Model;
  /** The entry with all fields, as the service sent it. */
  value: JsonObject;
  raw: raw.RawJson;
  /** The index in the list, which can contain null elements. */
  position: number;
}>;

export type ReplyList<Model = unknown> = Readonly<{
  document: raw.RawJson;
  entries: readonly ReplyEntry<Model>[];
  nullCount: number;
  /** The key or header that announces more elements, which the interface cannot request. */
  partialMark: string | undefined;
  isUtf8: boolean;
}>;

export type ReplyHeaders = Readonly<Record<string, string>>;

/** Assumed: the interface has no pages, so these are the names that other services use. */
const findMark = (reply: JsonObject, length: number, { link = "" }: ReplyHeaders) => {
  const { has_more: hasMore, total } = reply;
  // An explicit `false` is more reliable than a cursor or a total.
  if (hasMore === false) return undefined;
  if (hasMore === true) return "has_more";
  const next = ["next", "next_page_token"].find((key) => isStated(reply[key]));
  if (next !== undefined || Number(total) > length) return next ?? "total";
  return /;\s*rel\s*=\s*(?:"[^"]*\bnext\b|next\b)/i.test(link) ? "the header Link" : undefined;
};

const isStated = (value: unknown) => (typeof value === "string" ? value.trim() !== "" : Boolean(value));

const readOutline = openBodyReader(["data"]);

const List = z.looseObject({ data: z.nullable(z.array(z.unknown())) });

/** Reads `{"data":[{…},null,…]}` or `{"data":null}`. */
export const listReader =
  <Model>(entry: z.ZodMiniType<Model>): ReplyReader<ReplyList<Model>> =>
  (bytes, headers = {}) => {
    const text = toBuffer(bytes).toString("utf8");
    // The outline is read in a moment, also if millions of brackets are open.
    const parsed = readOutline(bytes) && parseWithDigits(text);
    if (!parsed) return undefined;
    const list = List.safeParse(parsed.value);
    if (!list.success) return { invalidPath: list.error.issues[0]?.path.join(".") ?? "" };
    const { data, ...reply } = list.data;
    const read = raw.parseRawJson(text);
    // Some services write an empty list as null.
    const values = data ?? [];
    if (values.length === 0 && hasError(read)) return { invalidPath: "data" };
    // A schema would describe each of millions of wrong values.
    const wrong = values.findIndex((item) => item !== null && !isObject(item));
    if (wrong >= 0) return { invalidPath: `data.${wrong}` };
    const entries = raw
      .itemsOf(raw.findMember(read, "data"))
      .flatMap((own, position): ReplyEntry<Model> | readonly [] => {
        const value = values[position];
        return isObject(value) ? { model: entry.parse(value), value, raw: own, position } : [];
      });
    const withList = (member: raw.RawMember) =>
      member.key === "data" ? { ...member, value: raw.toRawJson([]) } : member;
    const document = data === null ? raw.toRawObject(read.members.map(withList)) : read;
    const partialMark = findMark(reply, values.length, headers) ?? (hasError(read) ? "error" : undefined);
    const nullCount = values.length - entries.length;
    return { value: { document, entries, nullCount, partialMark, isUtf8: isUtf8(bytes) } };
  };

/** True if the reply has a stated `error`, as in `{"data":null,"error":{…}}`. */
const hasError = (reply: raw.RawJson) =>
  !["null", '""', "false"].includes(raw.findMember(reply, "error")?.json ?? "null");

/** More than any call has. Millions of open brackets would take long. */
const readWhole = openBodyReader([], 2 ** 22);

/** Reads `{"call":{…}}` or `{"call":null}` as text, because a call can be large. NaN and Infinity become texts. */
export const readCallReply: ReplyReader<raw.RawJson> = (bytes) => {
  if (!readWhole(bytes)) {
    const finite = replaceNonFinite(toBuffer(bytes), JSON.stringify);
    return finite.length > bytes.length ? readCallReply(finite) : undefined;
  }
  const value = raw.parseRawJson(toBuffer(bytes).toString("utf8"));
  const call = raw.findMember(value, "call");
  if (call?.kind === "object" || (call && raw.isAbsent(call) && !hasError(value))) return { value };
  return { invalidPath: value.kind === "object" ? "call" : "" };
};
