/** Prints lists of objects of rollcall. Columns without a text of their own are keys of the objects in the JSON. */
import { type CellTag, type Column, printList, type Screen } from "../../output/index.ts";

interface KeyDisplay<Row> {
  readonly rank: number;
  readonly heading?: string;
  readonly align?: "right" | "decimal";
  readonly hasNames?: boolean;
  /** Default: the value, with commas between the items of a list. */
  readonly text?: (row: Row) => string | null | undefined;
  readonly tag?: ((row: Row) => CellTag | undefined) | undefined;
}

/** Columns by name. Without `text`, a column shows the value of the key with its name. A number is a rank. */
export type KeyColumns<Row> = Readonly<Record<string, number | KeyDisplay<Row>>>;

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);

export const keyColumns = <Row extends object>(keys: KeyColumns<Row>): readonly Column<Row>[] =>
  Object.entries(keys).map(([name, item]) => {
    const { text, heading = name, tag, ...rest } = typeof item === "number" ? { rank: item } : item;
    const value = text ?? ((row: Row): unknown => Reflect.get(row, name));
    return { name, heading, ...rest, ...(tag && { tag }), cell: (row) => textOf(value(row)), value };
  });

export const printObjects = async <Row extends object>(
  screen: Screen,
  { member, rows, others = {}, document = { ...others, [member]: rows }, columns }: ObjectList<Row>,
): Promise<void> => {
  const wire = { bytes: Buffer.from(JSON.stringify(document)), member };
  await printList<Row>(screen, { columns: keyColumns<Row>(columns), rows, wire });
};

interface ObjectList<Row> {
  readonly member: string;
  readonly rows: readonly Row[];
  /** The other keys of the document. */
  readonly others?: object;
  /** Replaces the document that has only `others` and the rows. */
  readonly document?: object;
  readonly columns: KeyColumns<NoInfer<Row>>;
}
