/** Prints lists of objects, and the facts of a result. */
import { roundForDisplay } from "../decimal.ts";
import {
  type Column,
  formatPlainValue,
  type Line,
  printList,
  printPage,
  resolveField,
  type Screen,
} from "../output/index.ts";
import { pluralize } from "../sentences.ts";

interface KeyDisplay<Row>
  extends Pick<Column<Row>, "rank" | "align" | "hasNames" | "isRounded" | "tag">,
    Partial<Pick<Column<Row>, "heading">> {
  readonly text?: (row: Row) => string | null | undefined;
}

/** Maps the keys of rows to columns. A number is the rank of the column. */
export type KeyColumns<Row> = Readonly<Record<string, number | KeyDisplay<Row>>>;

export const keyColumns = <Row extends object>(keys: KeyColumns<Row>): readonly Column<Row>[] =>
  Object.entries(keys).map(([name, item]) => {
    const { text, heading = name, ...rest } = typeof item === "number" ? { rank: item } : item;
    const value = text ?? ((row: Row): unknown => Reflect.get(row, name));
    return { name, heading, ...rest, cell: (row) => formatPlainValue(value(row), ", "), value };
  });

/** Formats other than `json` print only the list in `member`. */
export const printObjects = async <Member extends string, Document extends Readonly<Record<Member, readonly object[]>>>(
  screen: Screen,
  document: Document,
  { member, columns }: { member: Member; columns: KeyColumns<Document[Member][number]> },
) => {
  const wire = { bytes: Buffer.from(JSON.stringify(document)), member };
  await printList(screen, { columns: keyColumns(columns), rows: document[member], wire });
};

type Fact = Readonly<{ name: string; value: string | number }>;

export const toFacts = (values: Readonly<Record<string, Fact["value"] | null | undefined>>): readonly Fact[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined || value === null ? [] : [{ name, value }]));

export const formatUnreadable = (records: number) =>
  records === 0 ? "" : ` (${pluralize(records, "unreadable record")})`;

type ResultPage = Readonly<{
  facts: readonly Fact[];
  metrics?: Readonly<Record<string, number>>;
  metricsScope?: string | undefined;
  next?: readonly Fact[];
}>;

const factColumns = { name: 0, value: 0 };

/** Checks `--fields` before the first request. @throws Failure `invalid-option-value` */
export const checkFactFields = ({ fields = [], format, isForProgram }: Screen) => {
  if (format !== "table" && !isForProgram) for (const name of fields) resolveField(name, keyColumns<Fact>(factColumns));
};

export const printFacts = async (screen: Screen, { facts, metrics = {}, metricsScope, next = [] }: ResultPage) => {
  if (screen.format !== "table") {
    const rows = [...facts, ...toFacts({ "metrics for": metricsScope }), ...toFacts(metrics), ...next];
    return await printObjects(screen, { data: rows }, { member: "data", columns: factColumns });
  }
  const toLines = (list: readonly Fact[], kind?: Line["kind"]) =>
    list.map(({ name, value }) => ({ label: name, text: String(value), kind }));
  const rounded = Object.entries(metrics).map(([name, value]) => ({ name, value: roundForDisplay(value) }));
  const title = metricsScope === undefined ? "Metrics" : `Metrics of ${metricsScope}`;
  const sections = [{ lines: toLines(facts) }, { title, lines: toLines(rounded) }, { lines: toLines(next, "command") }];
  await printPage(screen, { sections: sections.filter((section) => section.lines.length > 0) });
};
