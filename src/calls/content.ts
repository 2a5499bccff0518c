/** Leaves the content of a call out: what people and models wrote. What is left is ids, times, numbers and names. */

import { inline, membersOf, type Spelled, type SpelledMember, textFrom, valueAt } from "../json/spelled.ts";
import { elements, type Member, members, openBrace, openBracket, type Span, skipWhite, textOf } from "../json/walk.ts";
import { readHead } from "./facts.ts";

/** Fields that are content, or may be (interface 2.4): left out whole. */
const contents: ReadonlySet<string> = new Set(["inputs", "output", "exception", "attributes", "display_name"]);

const identities: readonly string[] = [
  ...["id", "project_id", "op_name", "trace_id", "started_at", "parent_id", "thread_id", "turn_id", "ended_at"],
  ...["deleted_at", "storage_size_bytes", "total_storage_size_bytes"],
];

const vendorFields = ["user_id", "username", "run_id", "run_step", "run_step_end"];

/** The key under which the sizes of what was left out stand, in bytes of JSON. */
export const omittedKey = "omitted_bytes";

/**
 * A call without its content: one JSON object. `inputs`, `output`, `exception`, `attributes` and `display_name` go whole,
 * of `summary` and of fields that the interface does not name every text goes that is no number, no state and no
 * currency; ids and names stay where they are a few words; null is no content. `omitted_bytes` says how large what
 * went was, by field. `prefix` is the deployment's own word.
 */
export const withoutContent = (bytes: Uint8Array, prefix: string): Uint8Array => {
  const kept: string[] = [];
  const omitted: [name: string, size: number][] = [];
  const known = new Set([...identities, ...vendorFields.flatMap((name) => [`vendor_${name}`, `${prefix}_${name}`])]);
  for (const member of members(bytes, skipWhite(bytes, 0))) {
    const { key, keySpan, value } = member;
    const text = isName(key) ? keptOf(bytes, member, known) : undefined;
    if (text !== undefined) kept.push(`${textOf(bytes, keySpan)}:${text}`);
    const left = value.end - value.start - (text === undefined ? 0 : Buffer.byteLength(text));
    if (left > 0) omitted.push([isName(key) ? key : "other", left]);
  }
  if (omitted.length > 0) kept.push(`${JSON.stringify(omittedKey)}:${JSON.stringify(Object.fromEntries(omitted))}`);
  return Buffer.from(`{${kept.join(",")}}`);
};

const keptOf = (bytes: Uint8Array, { key, value }: Member, known: ReadonlySet<string>): string | undefined => {
  const text = isTree(bytes, value) ? undefined : textOf(bytes, value);
  if (text === "null") return text;
  if (!known.has(key)) return contents.has(key) ? undefined : withoutTexts(bytes, key, value, deepest);
  return text !== undefined && (!text.startsWith('"') || isName(JSON.parse(text))) ? text : undefined;
};

/** Nothing that is numbers is nested deeper. */
const deepest = 16;

const isTree = (bytes: Uint8Array, { start }: Span): boolean =>
  bytes[start] === openBrace || bytes[start] === openBracket;

/** A value without the texts in it; undefined where it is one, or holds nothing else. */
const withoutTexts = (bytes: Uint8Array, key: string, span: Span, levels: number): string | undefined => {
  if (!isTree(bytes, span)) {
    const text = textOf(bytes, span);
    return !text.startsWith('"') || isPlain(key, text.slice(1, -1)) ? text : undefined;
  }
  if (levels === 0) return undefined;
  if (bytes[span.start] === openBracket) {
    const items = Array.from(elements(bytes, span.start), (one) => withoutTexts(bytes, "", one, levels - 1));
    return items.includes(undefined) ? undefined : `[${items.join(",")}]`;
  }
  const all = [...members(bytes, span.start)];
  const kept = all.flatMap(({ key: own, keySpan, value }) => {
    const text = isName(own) ? withoutTexts(bytes, own, value, levels - 1) : undefined;
    return text === undefined ? [] : [`${textOf(bytes, keySpan)}:${text}`];
  });
  return kept.length === 0 && all.length > 0 ? undefined : `{${kept.join(",")}}`;
};

/** Whether a text is a number, the word of a state, or a currency. */
const isPlain = (key: string, text: string): boolean =>
  /^[+-]?\d[\d.]{0,40}([eE][+-]?\d{1,3})?$/.test(text) ||
  (key === "status" && /^[a-z_]{1,32}$/i.test(text)) ||
  (key.endsWith("_unit") && /^[A-Z]{3}$/.test(text));

/** Whether a text can be an id, a time or a name: a few words, and not long. */
const isName = (text: unknown): boolean =>
  typeof text === "string" && text.length <= 300 && /^(\S+( \S+){0,3})?$/.test(text);

/** What `readHead` reads, of a call without its content: states, durations, models, tokens and costs are still known. */
export const headWithoutContent = (bytes: Uint8Array, prefix: string): Spelled => {
  const whole = readHead(bytes);
  const shown = readHead(withoutContent(bytes, prefix));
  const leftOut = (key: string): readonly SpelledMember[] => {
    const value = valueAt(whole, key);
    const isThere = value !== undefined && inline(value) !== "" && valueAt(shown, key) === undefined;
    return isThere ? [{ key, value: { kind: "text", text: "left out" } }] : [];
  };
  const model = [textFrom(whole, "output", "model"), textFrom(whole, "inputs", "model")].find(isName);
  const usage = membersOf(valueAt(whole, "output", "usage")).filter(({ value }) => value.kind === "number");
  const output: SpelledMember[] = [
    ...(model === undefined ? [] : [{ key: "model", value: { kind: "text", text: model } as const }]),
    { key: "usage", value: { kind: "object", members: usage } },
  ];
  return {
    kind: "object",
    members: [
      ...membersOf(shown),
      ...["exception", "ended_at", "deleted_at"].flatMap(leftOut),
      { key: "output", value: { kind: "object", members: output } },
    ],
  };
};
