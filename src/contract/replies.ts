/** Defines schemas of fields, and reads replies without checking fields. */
import * as z from "zod/mini";
import { type JsonObject, openBrace, openBracket, replaceNonFinite, toBuffer, walkItems } from "../json/json-bytes.ts";
import * as table from "../json/table.ts";

export type ServiceObject = JsonObject;

export const toText = (value: unknown) => (typeof value === "string" ? value : undefined);

export const toTexts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;

/** `notes.id` becomes the name of the schema in `$defs`. */
export const withNotes = <Of extends z.ZodMiniType>(schema: Of, notes: z.core.GlobalMeta): Of => {
  const noted = schema.clone();
  z.globalRegistry.add(noted, { ...z.globalRegistry.get(schema), ...notes });
  return noted;
};

export const describe = <Of extends z.ZodMiniType>(description: string, schema: Of) =>
  withNotes(schema, { description });

export const text = z.nullish(z.string());
export const texts = z.nullish(z.array(z.string()));
export const freeObject = z.nullish(z.record(z.string(), z.unknown()));
/** Accepts fractions, although the JSON Schema says integer. */
export const integer = z.nullish(withNotes(z.number(), { type: "integer" }));

/** Undefined if the reply is not JSON. `invalidPath` is a dotted path. `json` replaces bytes that are not JSON. */
type ReplyResult<Value> =
  | { readonly value: Value; readonly json?: Uint8Array }
  | { readonly invalidPath: string }
  | undefined;
export type ReplyReader<Value> = (bytes: Uint8Array) => ReplyResult<Value>;

export type ReplyEntry = Readonly<{
  value: ServiceObject;
  raw: Uint8Array;
  /** The index in the list, which can contain null elements. */
  position: number;
}>;

export type ReplyList = Readonly<{
  bytes: Uint8Array;
  entries: readonly ReplyEntry[];
  nullCount: number;
  /** Assumed: `has_more` announces pages that the interface cannot request. */
  hasMore: boolean;
}>;

const readListRoot = table.openRootReader(["data"]);

/** Reads `{"data":[{…},null,…]}`. */
export const readListReply: ReplyReader<ReplyList> = (bytes) => {
  const root = readListRoot(bytes);
  const data = table.memberAt(root, "data");
  if (!root) return undefined;
  if (!data) return { invalidPath: table.firstByteOf(root) === openBrace ? "data" : "" };
  if (table.firstByteOf(data) !== openBracket) return { invalidPath: "data" };
  const items = walkItems(bytes, table.spanOf(data).start);
  const elements = Array.from(items, ({ start, end }) => bytes.subarray(start, end));
  const invalid = elements.findIndex(([first]) => first !== openBrace && first !== letterN);
  if (invalid >= 0) return { invalidPath: `data.${invalid}` };
  const entries = elements.flatMap((raw, position) =>
    raw[0] === letterN ? [] : [{ value: JSON.parse(Buffer.from(raw).toString()), raw, position }],
  );
  const more = table.memberAt(root, "has_more");
  const hasMore = more !== undefined && table.parseValue(more) === true;
  return { value: { bytes, entries, nullCount: elements.length - entries.length, hasMore } };
};

const letterN = 0x6e;

/** Reads a member that is an object or null. Returns the object as bytes, in which NaN and Infinity become texts. */
export const objectReader =
  (member: string): ReplyReader<Uint8Array | null> =>
  (bytes) => {
    const root = table.readRoot(bytes);
    if (!root) {
      const json = replaceNonFinite(toBuffer(bytes), JSON.stringify);
      const result = json.length > bytes.length ? objectReader(member)(json) : undefined;
      return result && "value" in result ? { ...result, json } : result;
    }
    const json = table.memberAt(root, member);
    if (!json) return { invalidPath: table.firstByteOf(root) === openBrace ? member : "" };
    if (table.firstByteOf(json) === letterN) return { value: null };
    if (table.firstByteOf(json) !== openBrace) return { invalidPath: member };
    const { start, end } = table.spanOf(json);
    return { value: bytes.subarray(start, end) };
  };
