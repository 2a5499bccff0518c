/** The objects in a reply of the service, and their values by dotted names: each as it was written. */
import { optionValueWrong } from "../failures.ts";
import { arrayText, membersText } from "../json/compose.ts";
import { endOfString, isNothing, readSpelled, type Spelled, type SpelledMember } from "../json/spelled.ts";
import { elementSpans, members, openBracket, type Span, skipWhite, textOf } from "../json/walk.ts";
import { nearest } from "../nearest.ts";
import type { Column, WireObjects } from "./view.ts";

/** Objects in bytes. Each is read when somebody asks for its values: those of a long list would not all fit. */
export interface WireRows {
  readonly count: number;
  /** @throws RangeError if there is no such row */
  at(position: number): Spelled;
}

/** Opens rows; the last one that was read is kept, since its columns are asked for one after the other. */
export const openRows = (bytes: Uint8Array, spans: readonly Span[]): WireRows => {
  let last: { readonly position: number; readonly value: Spelled } | undefined;
  return {
    count: spans.length,
    at(position) {
      const span = spans[position];
      if (span === undefined) throw new RangeError(`no row ${position}`);
      if (last?.position !== position) last = { position, value: readSpelled(textOf(bytes, span)) };
      return last.value;
    },
  };
};

/** Opens the objects of a reply, and the members around them. Of a member that appears twice the last counts. */
export const openWire = ({ bytes, member, elements, kept }: WireObjects) => {
  const own = [...members(bytes, skipWhite(bytes, 0))];
  const holder = own.findLast(({ key }) => key === member);
  const isList = holder === undefined || bytes[holder.value.start] === openBracket;
  const all = holder === undefined ? [] : isList ? (elements ?? elementSpans(bytes, holder.value)) : [holder.value];
  return {
    /** The members of the document, that of the objects once. */
    around: own.filter((one) => one === holder || one.key !== member),
    holder,
    isList,
    /** Also those that are not shown: they tell which fields there are. */
    all: openRows(bytes, all),
    shown: openRows(bytes, kept === undefined ? all : kept.flatMap((position) => all[position] ?? [])),
  };
};

/** The values of a dotted name: keys of objects, through the items of lists; a key that has dots itself is found too. */
export const valuesAt = (value: Spelled, name: string): readonly Spelled[] | undefined => {
  const member = memberNamed(value, name);
  if (member === undefined || member.key === name) return member && [member.value];
  const below = name.slice(member.key.length + 1);
  if (member.value.kind !== "list") return valuesAt(member.value, below);
  const found = member.value.items.flatMap((item) => valuesAt(item, below) ?? []);
  return found.length === 0 ? undefined : found;
};

/** The member that a dotted name leads to: that of the whole name, else that of its shortest beginning up to a dot. */
const memberNamed = ({ members }: Spelled, name: string): SpelledMember | undefined => {
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
export const textOfValues = (values: readonly Spelled[]): string =>
  values
    .map((value) => {
      if (value.kind !== "list") return plainText(value);
      return value.items.map((item) => plainText(onlyValue(item))).join(";");
    })
    .join(";");

/** The JSON of values in one cell, on one line; null is nothing. */
export const jsonOfValues = (values: readonly Spelled[]): string =>
  values.flatMap((value) => (isNothing(value) ? [] : compact(value.json))).join(";");

const plainText = (value: Spelled): string => {
  if (value.kind === "object" || value.kind === "list") return compact(value.json);
  return isNothing(value) ? "" : value.text;
};

/** The one value of an object that has only one, such as the country of a datacenter. */
const onlyValue = (value: Spelled): Spelled => {
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

export const spelledIn = (bytes: Uint8Array, span: Span): SpelledObject => {
  const value = readSpelled(textOf(bytes, span));
  return {
    keys: [...new Set(value.members.map(({ key }) => key))],
    text: (name) => textOfValues(valuesAt(value, name) ?? []),
    json: (name) => (valuesAt(value, name) ?? []).map(plainText).join(";"),
  };
};

/** The JSON of an object with only the values of dotted names, in their order; undefined for a value without members. */
export const pickedJson = (value: Spelled, names: readonly string[]): string | undefined => {
  if (value.kind === "list") {
    return arrayText(value.items.map((item) => (item.kind === "object" && pickedJson(item, names)) || "{}"));
  }
  if (value.kind !== "object") return undefined;
  const picked = new Map<string, { readonly value: Spelled; readonly below: string[]; isWhole: boolean }>();
  for (const name of names) {
    const member = memberNamed(value, name);
    if (member === undefined) continue;
    const own = picked.get(member.key) ?? { value: member.value, below: [], isWhole: false };
    if (member.key === name) own.isWhole = true;
    else own.below.push(name.slice(member.key.length + 1));
    picked.set(member.key, own);
  }
  return membersText(
    Array.from(picked, ([key, { value: own, below, isWhole }]) => [
      key,
      isWhole ? compact(own.json) : pickedJson(own, below),
    ]),
  );
};

const [space, quote] = [0x20, 0x22];

/** JSON without the white space outside of its strings. */
export const compact = (json: string): string => {
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
export const columnMeant = <One extends NamedColumn>(typed: string, columns: readonly One[]): One | undefined => {
  const alike = (name = ""): string =>
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
  const found = ways.map((namesOf) => columns.find((one) => namesOf(one).some((name) => alike(name) === alike(typed))));
  return columns.find(({ name }) => name === typed) ?? found.find((column) => column !== undefined);
};

/** A field's name on the wire: the keys of the objects go before the names of columns. @throws Failure `option-value-wrong` */
export const fieldNamed = (name: string, columns: readonly NamedColumn[], rows: WireRows | undefined): string => {
  if (columns.some((one) => name === one.name || name.startsWith(`${one.name}.`))) return name;
  const count = rows?.count ?? 0;
  for (let position = 0; position < count; position++) {
    if (rows !== undefined && valuesAt(rows.at(position), name) !== undefined) return name;
  }
  const meant = columnMeant(name, columns);
  if (meant !== undefined) return meant.name;
  // Without a column or an object nobody knows what names there are.
  if (columns.length === 0 && rows !== undefined && count === 0) return name;
  const known = columns.map((column) => column.name);
  throw optionValueWrong({
    option: "--fields",
    value: name,
    wanted: known.length === 0 ? "the names that the objects have" : `such names as ${known.slice(0, 5).join(", ")}`,
    suggestion: nearest(name, known),
  });
};
