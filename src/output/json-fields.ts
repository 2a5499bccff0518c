/** Finds values in a reply by dotted names, without changing the digits of numbers. */

import * as raw from "../json/raw-json.ts";
import { invalidOptionValue } from "../system/failures.ts";
import { findNearest } from "../text/nearest.ts";
import type { Column, JsonObjects } from "./views.ts";

export const openObjects = ({ document, member, shownPositions }: JsonObjects) => {
  const container = member === undefined ? document : raw.findMember(document, member);
  const isList = member !== undefined && container?.kind === "list";
  const all = isList ? container.items : container ? [container] : [];
  const shown = shownPositions?.flatMap((position) => all[position] ?? []) ?? all;
  return { document, container, isList, all, shown };
};

export const findValues = (value: raw.RawJson, name: string): readonly raw.RawJson[] | undefined => {
  const member = findMember(value, name);
  if (!member) return undefined;
  if (member.key === name) return [member.value];
  const below = name.slice(member.key.length + 1);
  if (member.value.kind !== "list") return findValues(member.value, below);
  const found = member.value.items.flatMap((item) => findValues(item, below) ?? []);
  return found.length === 0 ? undefined : found;
};

/** Finds the key that equals the name. Otherwise, finds the shortest key before a dot in the name. */
const findMember = ({ members }: raw.RawJson, name: string) => {
  const whole = members.findLast(({ key }) => key === name);
  if (whole) return whole;
  return members
    .filter(({ key }) => name.startsWith(`${key}.`))
    .sort((a, b) => b.key.length - a.key.length)
    .at(-1);
};

export const formatValues = (values: readonly raw.RawJson[], separator = ";") => {
  const formatItem = (item: raw.RawJson) => formatValue(item.members.length === 1 ? item.members[0]?.value : item);
  const formatAll = (value: raw.RawJson) =>
    value.kind === "list" ? value.items.map(formatItem).join(separator) : formatValue(value);
  return values.map(formatAll).join(separator);
};

export const formatValuesAsJson = (values: readonly raw.RawJson[]) =>
  values.flatMap((value) => (raw.isAbsent(value) ? [] : raw.toCompactJson(value))).join(";");

const formatValue = (value: raw.RawJson | undefined) => {
  if (raw.isAbsent(value)) return "";
  return value.kind === "object" || value.kind === "list" ? raw.toCompactJson(value) : value.text;
};

/** `text` joins the items of a list. `json` returns a list as JSON. */
export const readSpelledObject = (value: raw.RawJson) => ({
  keys: [...new Set(value.members.map(({ key }) => key))],
  text: (name: string, separator?: string) => formatValues(findValues(value, name) ?? [], separator),
  json: (name: string) => (findValues(value, name) ?? []).map(formatValue).join(";"),
});

export const pickFields = (value: raw.RawJson, names: readonly string[]): raw.RawJson | undefined => {
  if (value.kind === "list")
    return raw.toRawJson(value.items.map((item) => (item.kind === "object" && pickFields(item, names)) || {}));
  if (value.kind !== "object") return undefined;
  const picked = new Map<raw.RawMember, string[]>();
  for (const name of names) {
    const member = findMember(value, name);
    if (member) picked.set(member, [...(picked.get(member) ?? []), name]);
  }
  const members: raw.RawMember[] = [];
  for (const [{ key, value: member }, named] of picked) {
    const toBelow = (name: string) => name.slice(key.length + 1);
    const found = named.includes(key) ? member : pickFields(member, named.map(toBelow));
    if (found) members.push({ key, value: found });
  }
  return raw.toRawObject(members);
};

export type NamedColumn = Pick<Column<never>, "name" | "heading">;

export const findColumn = <One extends NamedColumn>(typed: string, columns: readonly One[]) => {
  const normalize = (name: string) => name.replaceAll(/[\s_-]+/g, "_").toLowerCase();
  const isTyped = (name = "") => normalize(name) === normalize(typed);
  return (
    columns.find(({ name }) => isTyped(name)) ??
    columns.find(({ name, heading = name }) => isTyped(heading)) ??
    columns.find(({ name }) => isTyped(name.slice(name.lastIndexOf(".") + 1))) ??
    columns.find(({ name, heading = name }) => isTyped(heading.split("\n", 1)[0]))
  );
};

/** Returns the path in JSON. @throws Failure `invalid-option-value` */
export const resolveField = (name: string, columns: readonly NamedColumn[], rows?: readonly raw.RawJson[]) => {
  const isInColumn = columns.some((one) => `${name}.`.startsWith(`${one.name}.`) || one.name.startsWith(`${name}.`));
  if (isInColumn || rows?.some((row) => findValues(row, name))) return name;
  const meant = findColumn(name, columns);
  if (meant) return meant.name;
  const keys = columns.length === 0 && rows?.flatMap((row) => row.members.map(({ key }) => key));
  throw unknownField(name, keys ? "keys" : "columns", [...new Set(keys || columns.map((column) => column.name))]);
};

export const unknownField = (name: string, kind: "keys" | "columns", known: readonly string[]) => {
  const some = [...known.slice(0, 5), ...(known.length > 5 ? ["…"] : [])].join(", ");
  return invalidOptionValue("--fields", name, `names of ${kind}: ${some}`, findNearest(name, known));
};
