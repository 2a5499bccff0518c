/** Finds the objects of a list in the service's own reply, and their values by dotted names, without losing a spelling. */
import {
  elementSpans,
  memberSpans,
  members,
  openBrace,
  openBracket,
  type Span,
  skipWhite,
  textOf,
} from "../../json/walk.ts";
import type { WireObjects } from "../view.ts";
import { compactJson } from "./layout.ts";

/** The objects of a reply and the members around them. */
export interface WirePlaces {
  /** Where each object stands, in the order shown. */
  readonly objects: readonly Span[];
  /** Where each stands, those that are not shown too: what they are made of tells which fields there are. */
  readonly all: readonly Span[];
  /** Whether they stand in an array, or there is just one. */
  readonly isList: boolean;
  /** Members of the wrapper in their order; the one that holds the objects stands once. */
  readonly wrapper: readonly { readonly keySpan: Span; readonly value: Span; readonly holds: boolean }[];
}

/** Walks the reply once. A member that stands twice counts where it stands last, as for any JSON parser. */
export const placesOf = ({ bytes, member, kept }: WireObjects): WirePlaces => {
  const all = [...members(bytes, skipWhite(bytes, 0))];
  const holder = all.findLast(({ key }) => key === member);
  const wrapper = all
    .filter((one) => one === holder || one.key !== member)
    .map((one) => ({ keySpan: one.keySpan, value: one.value, holds: one === holder }));
  if (holder === undefined) return { objects: [], all: [], isList: true, wrapper };
  const isList = bytes[holder.value.start] === openBracket;
  const found = isList ? elementSpans(bytes, holder.value) : [holder.value];
  const objects = kept === undefined ? found : kept.flatMap((position) => found[position] ?? []);
  return { objects, all: found, isList, wrapper };
};

/** The objects that rows were read from, one for one, and their values by dotted names. */
export interface WireRows {
  readonly bytes: Uint8Array;
  readonly count: number;
  /**
   * Places of the values that a dotted name means in the object at `position`: keys of objects, through the elements of
   * arrays; a key that holds dots itself is found too. Undefined where there is none.
   */
  find(position: number, name: string): readonly Span[] | undefined;
}

/** Opens rows; an object is walked once while its columns are asked for one after the other. */
export const openRows = (bytes: Uint8Array, objects: readonly Span[]): WireRows => {
  let walked: { readonly position: number; readonly members: ReadonlyMap<string, Span> } | undefined;
  return {
    bytes,
    count: objects.length,
    find(position, name) {
      const object = objects[position];
      if (object === undefined) return undefined;
      if (walked?.position !== position) walked = { position, members: memberSpans(bytes, object) };
      return findIn(bytes, walked.members, name);
    },
  };
};

/** The objects of a reply, one for each row. */
export const objectsIn = (wire: WireObjects): WireRows => openRows(wire.bytes, placesOf(wire).objects);

/** One object as it was spelled. */
export interface SpelledObject {
  /** Its own keys, each once. */
  readonly keys: readonly string[];
  /** The text of what a dotted name means, as a cell has it; empty where there is none. */
  text(name: string): string;
  /** What a dotted name means: a text as it is, anything else as JSON on one line. */
  json(name: string): string;
}

/** Opens an object. */
export const spelledIn = (bytes: Uint8Array, span: Span): SpelledObject => {
  const rows = openRows(bytes, [span]);
  const own = memberSpans(bytes, span);
  return {
    keys: [...own.keys()],
    text: (name) => textOfFound(bytes, rows.find(0, name) ?? []),
    json: (name) => (rows.find(0, name) ?? []).map((value) => scalarOf(bytes, value)).join(";"),
  };
};

/** As deep as the name has dots: only objects, and objects in arrays, are gone into. */
const findIn = (bytes: Uint8Array, found: ReadonlyMap<string, Span>, name: string): readonly Span[] | undefined => {
  const key = keyIn(found, name);
  const inside = key === undefined ? undefined : found.get(key);
  if (key === undefined || inside === undefined) return undefined;
  if (key === name) return [inside];
  const below = name.slice(key.length + 1);
  if (bytes[inside.start] !== openBracket) return findIn(bytes, memberSpans(bytes, inside), below);
  const spans = elementSpans(bytes, inside).flatMap((one) => findIn(bytes, memberSpans(bytes, one), below) ?? []);
  return spans.length === 0 ? undefined : spans;
};

/** Which key a dotted name leads to: the name itself where it is one, else its shortest beginning, up to a dot, that is. */
export const keyIn = (keys: Pick<ReadonlySet<string>, "has">, name: string): string | undefined => {
  if (keys.has(name)) return name;
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const key = name.slice(0, dot);
    if (keys.has(key)) return key;
  }
  return undefined;
};

/** Text of what was found; what stands in several places is joined with `;`. */
export const textOfFound = (bytes: Uint8Array, spans: readonly Span[]): string =>
  spans.map((span) => textOfValue(bytes, span)).join(";");

/** The JSON of what was found, on one line; empty where it is null. */
export const jsonOfFound = (bytes: Uint8Array, spans: readonly Span[]): string =>
  spans
    .map((span) => compactJson(bytes, span))
    .filter((json) => json !== "null")
    .join(";");

/** Text of a value as a cell has it: a string's own text, numbers as they were spelt, lists joined with `;`. */
const textOfValue = (bytes: Uint8Array, span: Span): string =>
  bytes[span.start] === openBracket
    ? elementSpans(bytes, span)
        .map((one) => onlyValue(bytes, one) ?? scalarOf(bytes, one))
        .join(";")
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

/** An object with only the keys asked for by dotted names, in that order; absent ones are left out. On one line. */
export const pickedJson = (bytes: Uint8Array, span: Span, names: readonly string[]): string =>
  picked(bytes, span, names) ?? "{}";

const picked = (bytes: Uint8Array, span: Span, names: readonly string[]): string | undefined => {
  const first = bytes[span.start];
  if (first === openBracket) {
    return `[${elementSpans(bytes, span)
      .map((one) => pickedMembers(bytes, one, names) ?? "{}")
      .join(",")}]`;
  }
  return pickedMembers(bytes, span, names);
};

/** As deep as the names have dots: only objects are gone into. */
const pickedMembers = (bytes: Uint8Array, span: Span, names: readonly string[]): string | undefined => {
  if (bytes[span.start] !== openBrace) return undefined;
  const all = new Map(Array.from(members(bytes, span.start), (member) => [member.key, member]));
  const asked = new Map<string, { readonly value: Span; readonly below: string[]; whole: boolean }>();
  for (const name of names) {
    const own = keyIn(all, name);
    const member = own === undefined ? undefined : all.get(own);
    if (member === undefined) continue;
    const key = textOf(bytes, member.keySpan);
    const entry = asked.get(key) ?? { value: member.value, below: [], whole: false };
    if (member.key === name) entry.whole = true;
    else entry.below.push(name.slice(member.key.length + 1));
    asked.set(key, entry);
  }
  const parts = Array.from(asked, ([key, { value, below, whole }]) => {
    const text = whole ? compactJson(bytes, value) : picked(bytes, value, below);
    return text === undefined ? [] : [`${key}:${text}`];
  });
  return `{${parts.flat().join(",")}}`;
};
