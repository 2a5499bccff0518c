/** Finds the objects in a reply, and values of objects by dotted names. Keeps the spelling of values. */
import { wrongValue } from "../failures.ts";
import * as raw from "../json/raw-json.ts";
import { toBuffer } from "../json/walk.ts";
import { findNearest } from "../nearest.ts";
import type { Column, WireObjects } from "./views.ts";

/** Of repeated keys, the last key counts. */
export const openWire = ({ bytes, member, shownPositions }: WireObjects) => {
  const document = parseBytes(bytes);
  const container = member === undefined ? document : raw.findMember(document, member);
  const isList = member !== undefined && container?.kind === "list";
  const all = isList ? container.items : container === undefined ? [] : [container];
  const shown = shownPositions?.flatMap((position) => all[position] ?? []) ?? all;
  return { document, container, isList, all, shown };
};

const parseBytes = (bytes: Uint8Array) => raw.parseRawJson(toBuffer(bytes).toString("utf8"));

export const findValues = (value: raw.RawJson, name: string): readonly raw.RawJson[] | undefined => {
  const member = findMember(value, name);
  if (!member || member.key === name) return member && [member.value];
  const below = name.slice(member.key.length + 1);
  if (member.value.kind !== "list") return findValues(member.value, below);
  const found = member.value.items.flatMap((item) => findValues(item, below) ?? []);
  return found.length === 0 ? undefined : found;
};

/** Finds the member whose key is the name, or else the shortest start of the name before a dot. */
const findMember = ({ members }: raw.RawJson, name: string) => {
  const whole = members.findLast(({ key }) => key === name);
  if (whole) return whole;
  const prefixes = members.filter(({ key }) => name.startsWith(`${key}.`));
  return prefixes.reverse().sort((a, b) => a.key.length - b.key.length)[0];
};

/** Formats values for one cell. Numbers keep their spelling. Null is empty. */
export const formatValues = (values: readonly raw.RawJson[]) =>
  values
    .map((value) =>
      value.kind === "list"
        ? value.items.map((item) => formatValue(unwrapSingleMember(item))).join(";")
        : formatValue(value),
    )
    .join(";");

export const formatValuesAsJson = (values: readonly raw.RawJson[]) =>
  values.flatMap((value) => (raw.isAbsent(value) ? [] : raw.compactJson(value.json))).join(";");

const formatValue = (value: raw.RawJson) => {
  if (value.kind === "object" || value.kind === "list") return raw.compactJson(value.json);
  return raw.isAbsent(value) ? "" : value.text;
};

const unwrapSingleMember = (value: raw.RawJson) =>
  value.members.length === 1 ? (value.members[0]?.value ?? value) : value;

/** `text` joins the items of a list. `json` returns a list as JSON. */
export const readSpelledObject = (bytes: Uint8Array) => {
  const value = parseBytes(bytes);
  return {
    keys: [...new Set(value.members.map(({ key }) => key))],
    text: (name: string) => formatValues(findValues(value, name) ?? []),
    json: (name: string) => (findValues(value, name) ?? []).map(formatValue).join(";"),
  };
};

/** Picks from an object, or from each object of a list; undefined for other kinds. */
export const pickFields = (value: raw.RawJson, names: readonly string[]): string | undefined => {
  if (value.kind === "list") {
    return raw.composeArray(value.items.map((item) => (item.kind === "object" && pickFields(item, names)) || "{}"));
  }
  if (value.kind !== "object") return undefined;
  const picked = new Map<string, { readonly value: raw.RawJson; readonly below: string[]; isWhole: boolean }>();
  for (const name of names) {
    const member = findMember(value, name);
    if (!member) continue;
    const entry = picked.get(member.key) ?? { value: member.value, below: [], isWhole: false };
    if (member.key === name) entry.isWhole = true;
    else entry.below.push(name.slice(member.key.length + 1));
    picked.set(member.key, entry);
  }
  return raw.composeMembers(
    Array.from(picked, ([key, { value: member, below, isWhole }]) => [
      key,
      isWhole ? raw.compactJson(member.json) : pickFields(member, below),
    ]),
  );
};

export type NamedColumn = Pick<Column<never>, "name" | "heading" | "path">;

/** Ignores case, and treats `_`, `-` and spaces alike. */
export const findColumn = <One extends NamedColumn>(typed: string, columns: readonly One[]) => {
  const normalize = (name: string) => name.replaceAll(/[\s_-]+/g, "_").toLowerCase();
  const isTyped = (name = "") => normalize(name) === normalize(typed);
  return (
    columns.find(({ name, path }) => isTyped(name) || isTyped(path ?? name)) ??
    columns.find(({ heading }) => isTyped(heading)) ??
    columns.find(({ name }) => isTyped(name.slice(name.lastIndexOf(".") + 1))) ??
    columns.find(({ heading }) => isTyped(heading.split("\n", 1)[0]))
  );
};

/** Resolves a field to its name in the document: by a column's name, then by a key, then by `findColumn`. */
export const resolveField = (name: string, columns: readonly NamedColumn[], rows?: Iterable<raw.RawJson>) => {
  const named = columns.find((one) => name === one.name || name.startsWith(`${one.name}.`));
  if (named) return (named.path ?? named.name) + name.slice(named.name.length);
  let isEmpty = rows !== undefined;
  for (const row of rows ?? []) {
    if (findValues(row, name) !== undefined) return name;
    isEmpty = false;
  }
  const meant = findColumn(name, columns);
  if (meant) return meant.path ?? meant.name;
  // Without columns and objects, any name may be valid.
  if (columns.length === 0 && isEmpty) return name;
  const known = columns.map((column) => column.name);
  const wanted =
    known.length === 0
      ? "the names of keys in the output"
      : `names of columns: ${known.slice(0, 5).join(", ")}${known.length > 5 ? ", …" : ""}`;
  throw wrongValue("--fields", name, wanted, findNearest(name, known));
};
