/** Finds the objects of a list in the service's own reply, and their values by dotted names, without losing a spelling. */
import { elements, members, type Span, skipWhite, textOf } from "../json.ts";
import { compactJson } from "./json.ts";
import type { WireObjects } from "./view.ts";

/** The objects of a reply and the members around them. */
export interface WirePlaces {
  /** Where each object stands, in the order shown. */
  readonly objects: readonly Span[];
  /** Whether they stand in an array, or there is just one. */
  readonly isList: boolean;
  /** Members of the wrapper in their order; the one that holds the objects stands once. */
  readonly wrapper: readonly { readonly keySpan: Span; readonly value: Span; readonly holds: boolean }[];
}

const openBracket = 0x5b;
const openBrace = 0x7b;

/** Walks the reply once. A member that stands twice counts where it stands last, as for any JSON parser. */
export const placesOf = ({ bytes, member, kept }: WireObjects): WirePlaces => {
  const all = [...members(bytes, skipWhite(bytes, 0))];
  const holder = all.findLast(({ key }) => key === member);
  const wrapper = all
    .filter((one) => one === holder || one.key !== member)
    .map((one) => ({ keySpan: one.keySpan, value: one.value, holds: one === holder }));
  if (holder === undefined) return { objects: [], isList: true, wrapper };
  const isList = bytes[holder.value.start] === openBracket;
  const found = isList ? [...elements(bytes, holder.value.start)] : [holder.value];
  const objects = kept === undefined ? found : kept.flatMap((position) => found[position] ?? []);
  return { objects, isList, wrapper };
};

/** A value found by a dotted name: one place, or one for each element of the arrays on the way. */
export interface Found {
  readonly spans: readonly Span[];
  /** Whether an array was walked through on the way. */
  readonly many: boolean;
}

/**
 * Finds values by a dotted name below `at`: keys of objects, through the elements of arrays. A key that holds dots
 * itself is found too. Undefined where there is none.
 */
export const find = (bytes: Uint8Array, at: Span, name: string): Found | undefined => {
  if (bytes[at.start] !== openBracket) return findMember(bytes, at, name);
  const found = [...elements(bytes, at.start)].flatMap((element) => findMember(bytes, element, name) ?? []);
  return found.length === 0 ? undefined : { spans: found.flatMap(({ spans }) => spans), many: true };
};

/** As deep as the name has dots: only objects are gone into. */
const findMember = (bytes: Uint8Array, at: Span, name: string): Found | undefined => {
  if (bytes[at.start] !== openBrace) return undefined;
  const all = [...members(bytes, at.start)];
  const whole = all.findLast(({ key }) => key === name);
  if (whole !== undefined) return { spans: [whole.value], many: false };
  const inside = all.findLast(({ key }) => name.startsWith(`${key}.`));
  return inside === undefined ? undefined : find(bytes, inside.value, name.slice(inside.key.length + 1));
};

/** Text of a value as a cell has it: a string's own text, numbers as they were spelt, lists joined with `;`. */
export const cellOf = (bytes: Uint8Array, span: Span): string =>
  bytes[span.start] === openBracket
    ? Array.from(elements(bytes, span.start), (one) => onlyValue(bytes, one) ?? scalarOf(bytes, one)).join(";")
    : scalarOf(bytes, span);

const scalarOf = (bytes: Uint8Array, span: Span): string => {
  const first = bytes[span.start];
  if (first === openBracket || first === openBrace) return compactJson(bytes, span);
  const text = textOf(bytes, span);
  if (text === "null") return "";
  const value: unknown = text.startsWith('"') ? JSON.parse(text) : text;
  return typeof value === "string" ? value : text;
};

/** The one value of an object that has only one, such as a datacenter's country. */
const onlyValue = (bytes: Uint8Array, span: Span): string | undefined => {
  if (bytes[span.start] !== openBrace) return undefined;
  const [only, ...others] = members(bytes, span.start);
  return only === undefined || others.length > 0 ? undefined : scalarOf(bytes, only.value);
};

/** The JSON of what was found, on one line; empty where it is null. */
export const jsonCell = (bytes: Uint8Array, { spans }: Found): string =>
  spans
    .map((span) => compactJson(bytes, span))
    .filter((json) => json !== "null")
    .join(";");

/** The cell of a dotted name; empty where it is absent. */
export const cellAt = (bytes: Uint8Array, at: Span, name: string): string =>
  find(bytes, at, name)
    ?.spans.map((span) => cellOf(bytes, span))
    .join(";") ?? "";
