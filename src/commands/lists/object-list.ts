/** Lists of rollcall's own objects. The columns of the table are the keys of the objects in the document. */
import { type CellTag, type Column, printList, type Screen } from "../../output/index.ts";

interface KeyDisplay<Row> {
  readonly rank: number;
  readonly heading?: string;
  readonly align?: "right" | "decimal";
  /** Default: the value, a list with commas. */
  readonly text?: (row: Row) => string | null | undefined;
  readonly tag?: ((row: Row) => CellTag | undefined) | undefined;
}

/** The columns of keys. A number is a rank without other settings. */
type KeyColumns<Row> = { readonly [Key in keyof Row & string]?: number | KeyDisplay<Row> };

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);

export const keyColumns = <Row extends object>(keys: KeyColumns<Row>): readonly Column<Row>[] =>
  Object.entries<number | KeyDisplay<Row> | undefined>(keys).flatMap(([name, shown]) => {
    if (shown === undefined) return [];
    const { text, heading = name, tag, ...own } = typeof shown === "number" ? { rank: shown } : shown;
    const value = (row: Row): unknown => Reflect.get(row, name);
    const cell = (row: Row): string => (text === undefined ? textOf(value(row)) : (text(row) ?? ""));
    return [{ name, heading, ...own, ...(tag === undefined ? {} : { tag }), cell, value }];
  });

/** Prints objects. In JSON, they are in `member`, after the other keys. */
export const printObjects = async <Row extends object>(
  screen: Screen,
  { member, rows, others = {}, columns }: ObjectList<Row>,
): Promise<void> => {
  const wire = { bytes: Buffer.from(JSON.stringify({ ...others, [member]: rows })), member };
  await printList<Row>(screen, { columns: keyColumns<Row>(columns), rows, wire });
};

interface ObjectList<Row> {
  readonly member: string;
  readonly rows: readonly Row[];
  readonly others?: object;
  readonly columns: KeyColumns<NoInfer<Row>>;
}
