/** Defines the columns of inference models (interface 2.3), whose order output.md promises. */
import { formatUnixDay } from "../../text/units.ts";
import { type ReplyEntry, toText } from "../../wire/contract/replies.ts";
import type { Column } from "../views.ts";

type ServiceColumn<Row> = Omit<Column<Row>, "name" | "value" | "cell"> &
  Readonly<{
    read: (row: Row) => unknown;
    /** `spelled` returns the unchanged JSON of the value. Default: a text, or the JSON. */
    text?: (value: unknown, spelled: () => string, row: Row) => string;
  }>;

/** Makes a column of a key that can have a value of any type. */
export const serviceColumn = <Row>(
  name: string,
  { read, text = (value, spelled) => toText(value) ?? spelled(), ...display }: ServiceColumn<Row>,
): Column<Row> => ({
  name,
  ...display,
  value: (row) => read(row) ?? undefined,
  cell: (row, spelled) => {
    const value = read(row) ?? undefined;
    return value === undefined ? "" : text(value, spelled, row);
  },
});

/** Values are Unix seconds. Services send 0 for an unknown time, which is not a day of 1970. */
export const spellTime = (value: unknown, spelled: () => string) =>
  value === 0 ? "0" : (formatUnixDay(value) ?? spelled());

type Row = Readonly<{ model?: ReplyEntry }>;

const modelColumn = (name: string, display: Omit<ServiceColumn<Row>, "read">) =>
  serviceColumn(name, { ...display, read: ({ model }: Row) => model?.value[name] });

export const modelColumns = [
  modelColumn("id", { rank: 0 }),
  modelColumn("created", { rank: 2, text: spellTime }),
  modelColumn("owned_by", { heading: "owned by", rank: 1 }),
  modelColumn("root", { rank: 3 }),
  modelColumn("object", { rank: 4 }),
];
