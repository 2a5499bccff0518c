/** Prints lists of objects that rollcall makes. */
import { type Column, formatPlainValue, printList, type Screen } from "../../output/index.ts";

interface KeyDisplay<Row>
  extends Pick<Column<Row>, "rank" | "align" | "hasNames" | "tag">,
    Partial<Pick<Column<Row>, "heading">> {
  /** Default: the value, with commas between the items of a list. */
  readonly text?: (row: Row) => string | null | undefined;
}

/** Columns by name. By default, a column shows the value of the key with its name. A number is a column's rank. */
export type KeyColumns<Row> = Readonly<Record<string, number | KeyDisplay<Row>>>;

export const keyColumns = <Row extends object>(keys: KeyColumns<Row>): readonly Column<Row>[] =>
  Object.entries(keys).map(([name, item]) => {
    const { text, heading = name, ...rest } = typeof item === "number" ? { rank: item } : item;
    const value = text ?? ((row: Row): unknown => Reflect.get(row, name));
    return { name, heading, ...rest, cell: (row) => formatPlainValue(value(row), ", "), value };
  });

/** Prints a document with a list in `member`. People see only the list. */
export const printObjects = async <Member extends string, Document extends Readonly<Record<Member, readonly object[]>>>(
  screen: Screen,
  document: Document,
  { member, columns }: { member: Member; columns: KeyColumns<Document[Member][number]> },
) => {
  const wire = { bytes: Buffer.from(JSON.stringify(document)), member };
  await printList(screen, { columns: keyColumns(columns), rows: document[member], wire });
};
