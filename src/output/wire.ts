/** The objects in a reply of the service, and their values by dotted names. Keeps the spelling of values. */
import { invalidOptionValue } from "../failures.ts";
import {
  compactJson,
  composeArray,
  composeMembers,
  isAbsent,
  parseRawJson,
  type RawJson,
  type RawMember,
} from "../json/raw-json.ts";
import {
  endOfString as endOfKey,
  openBracket,
  type Span,
  skipWhite,
  sliceText,
  toBuffer,
  walkItems,
} from "../json/walk.ts";
import { findNearest } from "../nearest.ts";
import type { Column, WireObjects } from "./views.ts";

export type WireRows = ReturnType<typeof openRows>;

/** Parses an object on request, and keeps only the last object, because the values of a long list need much memory. */
const openRows = (bytes: Uint8Array, spans: readonly Span[]) => {
  let last: { readonly span: Span; readonly value: RawJson } | undefined;
  const parse = (span: Span): RawJson => {
    if (last?.span !== span) last = { span, value: parseRawJson(sliceText(bytes, span)) };
    return last.value;
  };
  return {
    at(position: number): RawJson | undefined {
      const span = spans[position];
      return span && parse(span);
    },
    *values(): Generator<RawJson, void> {
      for (const span of spans) yield parse(span);
    },
  };
};

const readMember = (bytes: Uint8Array, { start, end }: Span): readonly [key: string, value: Span] => {
  const keyEnd = endOfKey(bytes, start);
  const value = { start: skipWhite(bytes, skipWhite(bytes, keyEnd) + 1), end };
  return [String(JSON.parse(sliceText(bytes, { start, end: keyEnd }))), value];
};

/** Opens the objects of a document, or the document as the only object. The last member with a key counts. */
export const openWire = ({ bytes, member, shownPositions }: WireObjects) => {
  const items = member === undefined ? [] : walkItems(bytes, skipWhite(bytes, 0));
  const members = Array.from(items, (item) => readMember(bytes, item));
  const objectsMember = members.findLast(([key]) => key === member);
  const span = member === undefined ? { start: 0, end: bytes.length } : objectsMember?.[1];
  const isList = span === undefined || (member !== undefined && bytes[span.start] === openBracket);
  const all = span === undefined ? [] : isList ? [...walkItems(bytes, span.start)] : [span];
  const shown = shownPositions?.flatMap((position) => all[position] ?? []) ?? all;
  return {
    members: members.filter((one) => one === objectsMember || one[0] !== member),
    objectsMember,
    isList,
    all: openRows(bytes, all),
    shown: openRows(bytes, shown),
  };
};

export const findValues = (value: RawJson, name: string): readonly RawJson[] | undefined => {
  const member = findMember(value, name);
  if (member === undefined || member.key === name) return member && [member.value];
  const below = name.slice(member.key.length + 1);
  if (member.value.kind !== "list") return findValues(member.value, below);
  const found = member.value.items.flatMap((item) => findValues(item, below) ?? []);
  return found.length === 0 ? undefined : found;
};

/** Finds the member whose key is the whole name, otherwise the shortest part of the name before a dot. */
const findMember = ({ members }: RawJson, name: string): RawMember | undefined => {
  const whole = members.findLast(({ key }) => key === name);
  if (whole !== undefined) return whole;
  const prefixes = members.filter(({ key }) => name.startsWith(`${key}.`));
  const shortest = Math.min(...prefixes.map(({ key }) => key.length));
  return prefixes.findLast(({ key }) => key.length === shortest);
};

/** Formats values for one cell, joined with `;`. Numbers keep their spelling. Null is empty. */
export const formatValues = (values: readonly RawJson[]): string =>
  values
    .map((value) =>
      value.kind === "list" ? value.items.map((item) => plainText(onlyValue(item))).join(";") : plainText(value),
    )
    .join(";");

export const formatValuesAsJson = (values: readonly RawJson[]): string =>
  values.flatMap((value) => (isAbsent(value) ? [] : compactJson(value.json))).join(";");

const plainText = (value: RawJson): string => {
  if (value.kind === "object" || value.kind === "list") return compactJson(value.json);
  return isAbsent(value) ? "" : value.text;
};

const onlyValue = (value: RawJson): RawJson => {
  const [only, ...others] = value.members;
  return only === undefined || others.length > 0 ? value : only.value;
};

/** Reads an object. `text` joins the items of lists; `json` keeps lists and objects as JSON. */
export const readSpelledObject = (bytes: Uint8Array) => {
  const value = parseRawJson(toBuffer(bytes).toString("utf8"));
  return {
    keys: [...new Set(value.members.map(({ key }) => key))],
    text: (name: string): string => formatValues(findValues(value, name) ?? []),
    json: (name: string): string => (findValues(value, name) ?? []).map(plainText).join(";"),
  };
};

/** Returns JSON with only the named values of an object, or of the objects of a list; undefined for other kinds. */
export const pickFields = (value: RawJson, names: readonly string[]): string | undefined => {
  if (value.kind === "list") {
    return composeArray(value.items.map((item) => (item.kind === "object" && pickFields(item, names)) || "{}"));
  }
  if (value.kind !== "object") return undefined;
  const picked = new Map<string, { readonly value: RawJson; readonly below: string[]; isWhole: boolean }>();
  for (const name of names) {
    const member = findMember(value, name);
    if (member === undefined) continue;
    const entry = picked.get(member.key) ?? { value: member.value, below: [], isWhole: false };
    if (member.key === name) entry.isWhole = true;
    else entry.below.push(name.slice(member.key.length + 1));
    picked.set(member.key, entry);
  }
  return composeMembers(
    Array.from(picked, ([key, { value: member, below, isWhole }]) => [
      key,
      isWhole ? compactJson(member.json) : pickFields(member, below),
    ]),
  );
};

export type NamedColumn = Pick<Column<never>, "name" | "heading" | "path">;

/** Finds a column by its name, its heading, or a part of them. Ignores case, and treats `_`, `-` and spaces alike. */
export const findColumn = <One extends NamedColumn>(typed: string, columns: readonly One[]): One | undefined => {
  const normalize = (name: string): string =>
    name
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]+/g, "_");
  const spellings: readonly ((column: One) => readonly string[])[] = [
    ({ name, path = name }) => [name, path],
    ({ heading }) => [heading],
    ({ name }) => [name.slice(name.lastIndexOf(".") + 1)],
    ({ heading }) => heading.split("\n", 1),
  ];
  const exact = columns.find(({ name }) => name === typed);
  const findBy = (spell: (typeof spellings)[number]) =>
    columns.find((one) => spell(one).some((name) => normalize(name) === normalize(typed)));
  return exact ?? spellings.map(findBy).find((column) => column !== undefined);
};

/** Resolves a field to its name in the document: by a column's name, then by a key, then by `findColumn`. */
export const resolveField = (name: string, columns: readonly NamedColumn[], rows?: Iterable<RawJson>): string => {
  const named = columns.find((one) => name === one.name || name.startsWith(`${one.name}.`));
  if (named !== undefined) return (named.path ?? named.name) + name.slice(named.name.length);
  let isEmpty = rows !== undefined;
  for (const row of rows ?? []) {
    if (findValues(row, name) !== undefined) return name;
    isEmpty = false;
  }
  const meant = findColumn(name, columns);
  if (meant !== undefined) return meant.path ?? meant.name;
  // Without columns and objects, any name may be valid.
  if (columns.length === 0 && isEmpty) return name;
  const known = columns.map((column) => column.name);
  throw invalidOptionValue({
    option: "--fields",
    value: name,
    wanted: known.length === 0 ? "the names of keys in the output" : `names such as ${known.slice(0, 5).join(", ")}`,
    suggestion: findNearest(name, known),
  });
};
