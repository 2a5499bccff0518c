/** Which columns of a list are shown: all of them, or those of `--fields`. */
import { Failure } from "../failure.ts";
import type { Span } from "../json.ts";
import { nearest } from "../nearest.ts";
import type { Column } from "./view.ts";
import { cellAt, find } from "./wire.ts";

/** The columns of a list, those of unknown keys included where they were asked for. Cells get the row's position. */
export interface ShownColumn<Row> extends Column<Row> {
  /** Set where the column is none of the list's own: its name on the wire. */
  readonly extra: boolean;
}

/** The objects that rows were read from, one for one. */
export interface WireRows {
  readonly bytes: Uint8Array;
  readonly spans: readonly Span[];
}

/** Picks the columns asked for. @throws Failure `option-value-wrong` for a field that neither columns nor objects have */
export const shownColumns = <Row>({
  columns,
  rows,
  wire,
  fields,
}: {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly wire: WireRows | undefined;
  readonly fields: readonly string[] | undefined;
}): readonly Column<Row>[] => {
  if (fields === undefined) return columns;
  const spanOf = new Map<Row, Span>(rows.flatMap((row, at) => entry(row, wire?.spans[at])));
  return fields.map((name) => {
    const own = columns.find((column) => column.name === name);
    if (own !== undefined) return { ...own, rank: 0 };
    requireField({ name, known: columns.map((column) => column.name), wire });
    const cell = (row: Row): string => {
      const span = spanOf.get(row);
      return wire === undefined || span === undefined ? "" : cellAt(wire.bytes, span, name);
    };
    return { name, heading: name, rank: 0, cell, value: cell };
  });
};

const entry = <Row>(row: Row, span: Span | undefined): [Row, Span][] => (span === undefined ? [] : [[row, span]]);

/** @throws Failure where objects were read, none of them has the field, and it is none of their known names or below one */
export const requireField = ({
  name,
  known,
  wire,
}: {
  readonly name: string;
  readonly known: readonly string[];
  readonly wire: WireRows | undefined;
}): void => {
  if (known.some((one) => name === one || name.startsWith(`${one}.`))) return;
  const spans = wire?.spans ?? [];
  if (wire !== undefined && spans.some((span) => find(wire.bytes, span, name) !== undefined)) return;
  // Without a single object nobody knows what its keys would have been: a script must not fail on an empty list.
  if (wire !== undefined && spans.length === 0) return;
  const suggestion = nearest(name, known);
  throw new Failure("option-value-wrong", {
    option: "--fields",
    value: name,
    wanted: `names such as ${known.slice(0, 4).join(", ")}`,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
};
