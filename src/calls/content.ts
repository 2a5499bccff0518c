/** Leaves the content of a call out: what people and models wrote. What is left is ids, times, numbers and names of fields. */
import { elements, members, type Span, skipWhite, textOf } from "../json.ts";

/** Fields that are content, or may be (service-interface 2.4): left out whole. */
const contents: ReadonlySet<string> = new Set(["inputs", "output", "exception", "attributes", "display_name"]);

/** Fields whose texts are ids, times and references: kept whole. */
const identities: ReadonlySet<string> = new Set([
  ...["id", "project_id", "op_name", "trace_id", "started_at", "parent_id", "thread_id", "turn_id", "ended_at"],
  ...["deleted_at", "storage_size_bytes", "total_storage_size_bytes"],
]);

const vendorFields = ["user_id", "username", "run_id", "run_step", "run_step_end"];

/** The key under which the sizes of what was left out stand, in bytes of JSON. */
export const omittedKey = "omitted_bytes";

/**
 * A call without its content: one JSON object. `inputs`, `output`, `exception`, `attributes` and `display_name` go whole,
 * of `summary` and of fields that the interface does not name every text goes but the word of a `status`; null is no
 * content. `omitted_bytes` says how large what went was, by field.
 */
export const withoutContent = (bytes: Uint8Array, prefix: string): Uint8Array => {
  const kept: string[] = [];
  const omitted = new Map<string, number>();
  const known = new Set([...identities, ...vendorFields.flatMap((name) => [`vendor_${name}`, `${prefix}_${name}`])]);
  for (const { key, keySpan, value } of members(bytes, skipWhite(bytes, 0))) {
    const spelled = textOf(bytes, keySpan);
    const isNull = textOf(bytes, { start: value.start, end: Math.min(value.end, value.start + 4) }) === "null";
    const text =
      isNull || (known.has(key) && !isTree(bytes, value))
        ? textOf(bytes, value)
        : contents.has(key) || known.has(key)
          ? undefined
          : withoutTexts(bytes, value, deepest);
    if (text !== undefined) kept.push(`${spelled}:${text}`);
    const left = value.end - value.start - (text === undefined ? 0 : Buffer.byteLength(text));
    if (left > 0) omitted.set(key, left);
  }
  if (omitted.size > 0) kept.push(`${JSON.stringify(omittedKey)}:${JSON.stringify(Object.fromEntries(omitted))}`);
  return Buffer.from(`{${kept.join(",")}}`);
};

const quote = 0x22;
const openBrace = 0x7b;
const openBracket = 0x5b;

/** Nothing that is numbers is nested deeper. */
const deepest = 16;

const isTree = (bytes: Uint8Array, { start }: Span): boolean =>
  bytes[start] === openBrace || bytes[start] === openBracket;

/** A value without the texts in it; undefined where it is one, or holds nothing else. */
const withoutTexts = (bytes: Uint8Array, span: Span, levels: number): string | undefined => {
  const first = bytes[span.start];
  if (first === quote || (levels === 0 && isTree(bytes, span))) return undefined;
  if (first === openBrace) {
    const kept = Array.from(members(bytes, span.start), ({ key, keySpan, value }) => {
      const text =
        key === "status" && bytes[value.start] === quote && isWord(textOf(bytes, value))
          ? textOf(bytes, value)
          : withoutTexts(bytes, value, levels - 1);
      return text === undefined ? [] : [`${textOf(bytes, keySpan)}:${text}`];
    }).flat();
    return kept.length === 0 && !isEmpty(bytes, span) ? undefined : `{${kept.join(",")}}`;
  }
  if (first === openBracket) {
    const kept = Array.from(elements(bytes, span.start), (one) => withoutTexts(bytes, one, levels - 1));
    return kept.includes(undefined) ? undefined : `[${kept.join(",")}]`;
  }
  return textOf(bytes, span);
};

const isWord = (text: string): boolean => /^"[a-z_]{1,32}"$/i.test(text);

const isEmpty = (bytes: Uint8Array, { start, end }: Span): boolean => skipWhite(bytes, start + 1) === end - 1;
