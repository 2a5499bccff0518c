/** Defines the columns of inference models (interface 2.3), whose order output.md promises. */
import { formatUnixDay } from "../../text/units.ts";
import type { ReplyEntry } from "../../wire/contract/replies.ts";
import { type Column, type SpelledValue, spellCell } from "../views.ts";

/** Values are Unix seconds. Services send 0 for an unknown time, which is not a day of 1970. */
export const spellTime = (value: unknown, spelled: SpelledValue) =>
  value === 0 ? "0" : (formatUnixDay(value) ?? spelled());

type Row = Readonly<{ model?: ReplyEntry }>;

const modelColumn = (name: string, display: Pick<Column<Row>, "rank" | "heading" | "cell">): Column<Row> => {
  return { name, value: ({ model }) => model?.value[name], cell: spellCell, ...display };
};

export const modelColumns = [
  modelColumn("id", { rank: 0 }),
  modelColumn("created", { rank: 2, cell: ({ model }, spelled) => spellTime(model?.value.created, spelled) }),
  modelColumn("owned_by", { heading: "owned by", rank: 1 }),
  modelColumn("root", { rank: 3 }),
  modelColumn("object", { rank: 4 }),
];
