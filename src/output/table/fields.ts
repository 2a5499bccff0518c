/** Which columns of a list are shown: all of them, or those of `--fields`; and what each form gets of a row. */
import { optionValueWrong } from "../../failures.ts";
import type { Span } from "../../json/walk.ts";
import { nearest } from "../../nearest.ts";
import { jsonOfFound, textOfFound, type WireRows } from "../json/objects.ts";
import type { Column, Rows } from "../view.ts";

/** A column as the forms need it: by the position of the row. */
export interface ShownColumn<Row> extends Pick<Column<Row>, "name" | "heading" | "align" | "rank" | "isName" | "mark"> {
  /** What a person sees. */
  readonly cell: (row: Row, position: number) => string;
  /** The wire's own value as text. */
  readonly text: (row: Row, position: number) => string;
}

/** Picks the columns asked for. @throws Failure `option-value-wrong` for a field that neither columns nor objects have */
export const shownColumns = <Row>({
  columns,
  wire,
  all = wire,
  fields,
}: {
  readonly columns: readonly Column<Row>[];
  readonly wire: WireRows | undefined;
  /** Objects that are not shown too, where there are any. */
  readonly all?: WireRows | undefined;
  readonly fields: readonly string[] | undefined;
}): readonly ShownColumn<Row>[] => {
  if (fields === undefined) {
    return columns
      .filter(({ name, onlyWhereSome = false }) => !onlyWhereSome || hasSome(wire, name))
      .map((column) => shown(column, wire));
  }
  return fields.map((name) => {
    const field = fieldNamed(name, { columns, wire: all });
    const own = columns.find((column) => column.name === field);
    if (own !== undefined) return { ...shown(own, wire), rank: 0 };
    const text = (_: Row, position: number) => textOnWire(wire, position, name, textOfFound) ?? "";
    return { name, heading: name, rank: 0, cell: text, text };
  });
};

const hasSome = (wire: WireRows | undefined, name: string): boolean =>
  Array.from({ length: wire?.count ?? 0 }, (_, position) => textOnWire(wire, position, name, textOfFound)).some(
    Boolean,
  );

const shown = <Row>(column: Column<Row>, wire: WireRows | undefined): ShownColumn<Row> => {
  const textOf = column.freeForm === true ? jsonOfFound : textOfFound;
  const text = (row: Row, position: number) =>
    textOnWire(wire, position, column.name, textOf) ?? textOfOther(column.value(row), wire, { position, column });
  return { ...column, text, cell: (row, position) => column.cell(row, () => text(row, position)) };
};

/** What a column says that has nothing under its own name: the value around it, which came in place of an object or a list. */
const textOfOther = <Row>(
  value: unknown,
  wire: WireRows | undefined,
  { position, column }: { readonly position: number; readonly column: Column<Row> },
): string => {
  if (value === undefined || value === null || value === "") return "";
  const dot = column.name.lastIndexOf(".");
  const around = dot < 0 ? undefined : textOnWire(wire, position, column.name.slice(0, dot), textOfFound);
  return around ?? csvValue(value);
};

/** A value of CSV that rollcall made itself: lists joined with `;`, objects as JSON, nothing for what is absent. */
const csvValue = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(csvValue).join(";");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

const textOnWire = (
  wire: WireRows | undefined,
  position: number,
  name: string,
  textOf: (bytes: Uint8Array, spans: readonly Span[]) => string,
): string | undefined => {
  const found = wire?.find(position, name);
  return wire === undefined || found === undefined ? undefined : textOf(wire.bytes, found);
};

/** How a column is called. */
export type NamedColumn = Pick<Column<never>, "name" | "heading" | "otherNames">;

/**
 * The column that a person means: by its name, by the words of its heading with or without their second line, or by the
 * last part of its name; in any case, with `_`, `-` and blanks alike.
 */
export const columnMeant = <One extends NamedColumn>(typed: string, columns: readonly One[]): One | undefined => {
  const meant = alike(typed);
  const by = (namesOf: (column: One) => readonly string[]): One | undefined =>
    columns.find((column) => namesOf(column).some((name) => alike(name) === meant));
  return (
    columns.find(({ name }) => name === typed) ??
    by(({ name, otherNames = [] }) => [name, ...otherNames]) ??
    by(({ heading }) => [heading]) ??
    by(({ name }) => [name.slice(name.lastIndexOf(".") + 1)]) ??
    by(({ heading }) => [heading.split("\n")[0] ?? ""])
  );
};

const alike = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, "_");

/**
 * A field's name on the wire, however it was typed: what the objects have goes before what a column is called.
 * @throws Failure where none of the objects has the field, and it is no known name, nor below one
 */
export const fieldNamed = (
  name: string,
  { columns, wire }: { readonly columns: readonly NamedColumn[]; readonly wire: WireRows | undefined },
): string => {
  if (columns.some((one) => name === one.name || name.startsWith(`${one.name}.`))) return name;
  for (let position = 0; position < (wire?.count ?? 0); position++) {
    if (wire?.find(position, name) !== undefined) return name;
  }
  const meant = columnMeant(name, columns);
  if (meant !== undefined) return meant.name;
  // Without a column or an object nobody knows what names there are.
  if (columns.length === 0 && wire?.count === 0) return name;
  const known = columns.map((column) => column.name);
  throw optionValueWrong({
    option: "--fields",
    value: name,
    wanted: known.length === 0 ? "the names that the objects have" : `such names as ${known.slice(0, 5).join(", ")}`,
    suggestion: nearest(name, known),
  });
};

/** Rows one after the other, from one position up to another. */
export function* inOrder<Row>(rows: Rows<Row>, from = 0, to = rows.length): Generator<Row, void> {
  for (let position = from; position < Math.min(to, rows.length); position++) {
    const row = rows.at(position);
    if (row !== undefined) yield row;
  }
}
