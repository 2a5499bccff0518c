/** The objects in a reply of the service, and their values by dotted names: each as it was written. */
import { invalidOptionValue } from "../failures.ts";
import { composeArray, composeMembers } from "../json/compose.ts";
import { endOfString, isAbsent, parseRawJson, type RawJson, type RawMember } from "../json/raw-json.ts";
import { listElementSpans, openBracket, type Span, skipWhite, sliceText, walkMembers } from "../json/walk.ts";
import { findNearest } from "../nearest.ts";
import type { Column, WireObjects } from "./views.ts";

/** Objects in bytes. Each is read when somebody asks for its values: those of a long list would not all fit. */
export interface WireRows {
  readonly count: number;
  /** @throws RangeError if there is no such row */
  at(position: number): RawJson;
}

/** Opens rows; the last one that was read is kept, since its columns are asked for one after the other. */
export const openRows = (bytes: Uint8Array, spans: readonly Span[]): WireRows => {
  let last: { readonly position: number; readonly value: RawJson } | undefined;
  return {
    count: spans.length,
    at(position) {
      const span = spans[position];
      if (span === undefined) throw new RangeError(`no row ${position}`);
      if (last?.position !== position) last = { position, value: parseRawJson(sliceText(bytes, span)) };
      return last.value;
    },
  };
};

/** Opens the objects of a reply, and the members around them. Of a member that appears twice the last counts. */
export const openWire = ({ bytes, member, elements, kept }: WireObjects) => {
  const own = [...walkMembers(bytes, skipWhite(bytes, 0))];
  const objectsMember = own.findLast(({ key }) => key === member);
  const isList = objectsMember === undefined || bytes[objectsMember.value.start] === openBracket;
  const all =
    objectsMember === undefined
      ? []
      : isList
        ? (elements ?? listElementSpans(bytes, objectsMember.value))
        : [objectsMember.value];
  return {
    /** The members of the document, that of the objects once. */
    otherMembers: own.filter((one) => one === objectsMember || one.key !== member),
    holder: objectsMember,
    isList,
    /** Also those that are not shown: they tell which fields there are. */
    all: openRows(bytes, all),
    shown: openRows(bytes, kept === undefined ? all : kept.flatMap((position) => all[position] ?? [])),
  };
};

/** The values of a dotted name: keys of objects, through the items of lists; a key that has dots itself is found too. */
export const findValues = (value: RawJson, name: string): readonly RawJson[] | undefined => {
  const member = findMember(value, name);
  if (member === undefined || member.key === name) return member && [member.value];
  const below = name.slice(member.key.length + 1);
  if (member.value.kind !== "list") return findValues(member.value, below);
  const found = member.value.items.flatMap((item) => findValues(item, below) ?? []);
  return found.length === 0 ? undefined : found;
};

/** The member that a dotted name leads to: that of the whole name, else that of its shortest beginning up to a dot. */
const findMember = ({ members }: RawJson, name: string): RawMember | undefined => {
  const called = (own: string) => members.findLast(({ key }) => key === own);
  const whole = called(name);
  if (whole !== undefined) return whole;
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const found = called(name.slice(0, dot));
    if (found !== undefined) return found;
  }
  return undefined;
};

/** The text of values in one cell, joined with `;`: texts as they are, numbers as they were spelled. */
export const formatValues = (values: readonly RawJson[]): string =>
  values
    .map((value) => {
      if (value.kind !== "list") return plainText(value);
      return value.items.map((item) => plainText(onlyValue(item))).join(";");
    })
    .join(";");

/** The JSON of values in one cell, on one line; null is nothing. */
export const formatValuesAsJson = (values: readonly RawJson[]): string =>
  values.flatMap((value) => (isAbsent(value) ? [] : compactJson(value.json))).join(";");

const plainText = (value: RawJson): string => {
  if (value.kind === "object" || value.kind === "list") return compactJson(value.json);
  return isAbsent(value) ? "" : value.text;
};

/** The one value of an object that has only one, such as the country of a datacenter. */
const onlyValue = (value: RawJson): RawJson => {
  const [only, ...others] = value.members;
  return only === undefined || others.length > 0 ? value : only.value;
};

interface SpelledObject {
  /** Its own keys, each once. */
  readonly keys: readonly string[];
  /** The text of a dotted name, as a cell has it. */
  text(name: string): string;
  /** The value of a dotted name: a text as it is, anything else as JSON on one line. */
  json(name: string): string;
}

export const readSpelledObject = (bytes: Uint8Array, span: Span): SpelledObject => {
  const value = parseRawJson(sliceText(bytes, span));
  return {
    keys: [...new Set(value.members.map(({ key }) => key))],
    text: (name) => formatValues(findValues(value, name) ?? []),
    json: (name) => (findValues(value, name) ?? []).map(plainText).join(";"),
  };
};

/** The JSON of an object with only the values of dotted names, in their order; undefined for a value without members. */
export const pickFields = (value: RawJson, names: readonly string[]): string | undefined => {
  if (value.kind === "list") {
    return composeArray(value.items.map((item) => (item.kind === "object" && pickFields(item, names)) || "{}"));
  }
  if (value.kind !== "object") return undefined;
  const picked = new Map<string, { readonly value: RawJson; readonly below: string[]; isWhole: boolean }>();
  for (const name of names) {
    const member = findMember(value, name);
    if (member === undefined) continue;
    const own = picked.get(member.key) ?? { value: member.value, below: [], isWhole: false };
    if (member.key === name) own.isWhole = true;
    else own.below.push(name.slice(member.key.length + 1));
    picked.set(member.key, own);
  }
  return composeMembers(
    Array.from(picked, ([key, { value: own, below, isWhole }]) => [
      key,
      isWhole ? compactJson(own.json) : pickFields(own, below),
    ]),
  );
};

const [space, quote] = [0x20, 0x22];

/** JSON without the white space outside of its strings. */
export const compactJson = (json: string): string => {
  const parts: string[] = [];
  let copied = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === quote) at = endOfString(json, at + 1) - 1;
    else if (unit <= space) {
      parts.push(json.slice(copied, at));
      copied = at + 1;
    }
  }
  return copied === 0 ? json : parts.join("") + json.slice(copied);
};

export type NamedColumn = Pick<Column<never>, "name" | "heading" | "otherNames">;

/**
 * The column that a person means: by its name, by its heading with or without the second line, or by the last part of its
 * name; in any case, with `_`, `-` and blanks alike.
 */
export const findColumn = <One extends NamedColumn>(typed: string, columns: readonly One[]): One | undefined => {
  const normalize = (name = ""): string =>
    name
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]+/g, "_");
  const ways: readonly ((column: One) => readonly (string | undefined)[])[] = [
    ({ name, otherNames = [] }) => [name, ...otherNames],
    ({ heading }) => [heading],
    ({ name }) => [name.slice(name.lastIndexOf(".") + 1)],
    ({ heading }) => [heading.split("\n")[0]],
  ];
  const found = ways.map((namesOf) =>
    columns.find((one) => namesOf(one).some((name) => normalize(name) === normalize(typed))),
  );
  return columns.find(({ name }) => name === typed) ?? found.find((column) => column !== undefined);
};

/** A field's name on the wire: the keys of the objects go before the names of columns. @throws Failure `invalid-option-value` */
export const resolveField = (name: string, columns: readonly NamedColumn[], rows: WireRows | undefined): string => {
  if (columns.some((one) => name === one.name || name.startsWith(`${one.name}.`))) return name;
  const count = rows?.count ?? 0;
  for (let position = 0; position < count; position++) {
    if (rows !== undefined && findValues(rows.at(position), name) !== undefined) return name;
  }
  const meant = findColumn(name, columns);
  if (meant !== undefined) return meant.name;
  // Without a column or an object nobody knows what names there are.
  if (columns.length === 0 && rows !== undefined && count === 0) return name;
  const known = columns.map((column) => column.name);
  throw invalidOptionValue({
    option: "--fields",
    value: name,
    wanted: known.length === 0 ? "the names that the objects have" : `such names as ${known.slice(0, 5).join(", ")}`,
    suggestion: findNearest(name, known),
  });
};
