/** Prints lists as tables, TSV or JSON, and the facts of a result. */

import * as raw from "../json/raw-json.ts";
import { pluralize } from "../text/sentences.ts";
import { roundForDisplay } from "../text/units.ts";
import * as jsonFields from "./json-fields.ts";
import type { Screen } from "./screen.ts";
import type * as views from "./views.ts";

export const printList = async <Row>(screen: Screen, view: views.ListView<Row>) => {
  const { format, cleaner, width } = screen;
  const { columns, rows, json, fields = screen.fields } = view;
  if (format === "json") {
    const { all } = jsonFields.openObjects(json);
    // A row could have any key.
    const picked = all.length === 0 ? fields : fields?.map((name) => jsonFields.resolveField(name, columns, all));
    return await screen.print(formatObjects(screen, json, picked), "json");
  }
  const shown = selectColumns(screen, view);
  if (format !== "table") return await screen.print(formatLines(screen, shown, rows), "lines");
  const { drawTable } = await import("./text-table.ts");
  const table = drawTable({ columns: shown, rows, width, paint: await screen.paint(), clean: cleaner.line });
  if ("sections" in table) return await printPage(screen, { sections: table.sections, isFolded: true });
  const { pieces, omitted } = table;
  await screen.print(pieces, "lines");
  if (omitted.length === 0) return;
  const count = pluralize(omitted.length, "column");
  screen.notice(`omitted ${count} to fit ${width} terminal columns: ${omitted.join(", ")} (choose with --fields)`);
};

const printPage = async (screen: Screen, page: views.Page) => await (await import("./page.ts")).printPage(screen, page);

const selectColumns = <Row>(
  { fields: typed }: Screen,
  { columns, json, fields = typed }: views.ListView<Row>,
): views.ShownColumn<Row>[] => {
  const { shown: objects, all: rows } = jsonFields.openObjects(json);
  const spell = (position: number, name: string, separator?: string, isFreeForm?: boolean) => {
    const values = objects[position] && jsonFields.findValues(objects[position], name);
    return values && (isFreeForm ? jsonFields.formatValuesAsJson(values) : jsonFields.formatValues(values, separator));
  };
  const toShown = (column: views.Column<Row>): views.ShownColumn<Row> => {
    const { name, heading = name, isFreeForm } = column;
    const text = (row: Row, at: number, separator?: string) => {
      const found = spell(at, name, separator, isFreeForm);
      if (found !== undefined) return found;
      // At `a` of `a.b`, a damaged reply can have a number. An object there has the value under another name.
      const value = formatPlainValue(readValue(column, row));
      const above = spell(at, name.replace(/\.?[^.]*$/, "")) ?? "";
      return value && (above.startsWith("{") ? value : above || value);
    };
    const cell = (row: Row, at: number) => formatCell(column, row, (separator) => text(row, at, separator));
    return { ...column, heading, cell };
  };
  if (!fields) return columns.map(toShown);
  return fields.map((name) => {
    const field = jsonFields.resolveField(name, columns, rows);
    const column = columns.find((one) => one.name === field);
    if (column) return { ...toShown(column), rank: 0 };
    return { name, heading: name, rank: 0, cell: (_: Row, at: number) => spell(at, field) ?? "" };
  });
};

export const readValue = <Row>({ name, value }: views.Column<Row>, row: Row): unknown =>
  value ? value(row) : Reflect.get(Object(row), name);

export const formatCell = <Row>({ value, cell }: views.Column<Row>, row: Row, spelled: views.SpelledValue) =>
  cell ? (cell(row, spelled) ?? "") : value ? formatPlainValue(value(row), ", ") : spelled(", ");

/** Formats objects as JSON, because `String` would call a `toString` in the data. */
export const formatPlainValue = (value: unknown, separator = ";"): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && !value.some(Array.isArray))
    return value.map((item) => formatPlainValue(item, separator)).join(separator);
  return typeof value === "object" ? (raw.tryStringify(value) ?? "…") : String(value);
};

function* formatLines<Row>({ options, cleaner }: Screen, columns: views.ShownColumn<Row>[], rows: readonly Row[]) {
  const toLine = (cells: readonly string[]) => `${cells.map(cleaner.line).join("\t")}\n`;
  if (options.header) yield toLine(columns.map(({ heading }) => heading));
  for (const [at, row] of rows.entries()) yield toLine(columns.map(({ cell }) => cell(row, at)));
}

/**
 * Checks `--fields` before the command reads or changes anything.
 * @param keys those of the document that `printDocument` prints
 * @throws Failure `invalid-option-value`
 */
export const checkKeys = ({ fields = [], isJson }: Screen, keys: readonly string[]) => {
  const unknown = fields.find((name) => !keys.includes(name) && !keys.includes(name.split(".", 1)[0] ?? name));
  if (isJson && unknown !== undefined) throw jsonFields.unknownField(unknown, "keys", keys);
};

/** The function of each key of a document, in its order. The document omits an undefined value. */
export type DescribedDocument<Result> = Readonly<Record<string, (result: Result) => unknown>>;

export const composeDocument = <Result>(described: DescribedDocument<Result>, result: Result) =>
  Object.fromEntries(Object.entries(described).map(([key, read]) => [key, read(result)]));

export const printDocument = <Document>(screen: Screen, document: Document) =>
  screen.print(formatObjects(screen, { document: raw.toRawJson(document) }, screen.fields), "json");

/** Formats other than `json` print only the list in `member`. */
export const printObjects = async <Member extends string, Document extends Readonly<Record<Member, readonly object[]>>>(
  screen: Screen,
  document: Document,
  { member, columns }: { member: Member; columns: readonly views.KeyColumn<Document[Member][number]>[] },
) => await printList(screen, { columns, rows: document[member], json: { document: raw.toRawJson(document), member } });

function* formatObjects({ host, resultNotes }: Screen, json: views.JsonObjects, picked: readonly string[] | undefined) {
  const { document, container, isList, shown } = jsonFields.openObjects(json);
  const formatObject = (object: raw.RawJson) =>
    picked ? (jsonFields.pickFields(object, picked) ?? raw.toRawJson({})) : object;
  const objects = shown.map(formatObject);
  const content = isList ? raw.toRawJson(objects) : objects[0];
  const members = document.members.flatMap(({ key, value }): readonly raw.RawMember[] => {
    if (value === container) return content ? [{ key, value: content }] : [];
    return key === json.member ? [] : [{ key, value }];
  });
  // A list can have notes of its own, and standard error has these, too.
  const isOwn = members.some(({ key }) => key === "notes");
  if (resultNotes.length > 0 && !isOwn) members.push({ key: "notes", value: raw.toRawJson(resultNotes) });
  const result = document === container && content ? content : raw.toRawObject(members);
  yield* raw.formatJsonPieces(result, host.terminal.stdout ? "\n" : "");
  yield "\n";
}

type ResultRow = Readonly<{ name: string; value: string | number }>;

export const toFacts = (
  values: Readonly<Record<string, ResultRow["value"] | null | undefined>>,
): readonly ResultRow[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined || value === null ? [] : [{ name, value }]));

export const formatUnreadable = (records: number) =>
  records === 0 ? "" : ` (${pluralize(records, "unreadable record")})`;

type ResultPage = Readonly<{
  facts: readonly ResultRow[];
  metrics?: Readonly<Record<string, number>>;
  metricsScope?: string | undefined;
  next?: readonly ResultRow[];
  /** The JSON document, whose members are the rows in a pipe. Default: the facts. */
  document?: object;
}>;

/** Lists the members of a document by their dotted names, except lists, nulls and counts of 0. */
const listMembers = (document: object, prefix = ""): readonly ResultRow[] =>
  Object.entries(document).flatMap(([key, value]: [string, unknown]): readonly ResultRow[] => {
    const name = prefix + key;
    if (value === 0 && prefix !== "metrics.") return [];
    if (typeof value === "string" || typeof value === "number") return [{ name, value }];
    if (typeof value === "boolean") return [{ name, value: String(value) }];
    return typeof value !== "object" || value === null || Array.isArray(value) ? [] : listMembers(value, `${name}.`);
  });

const columns: readonly views.KeyColumn<ResultRow>[] = [
  { name: "name", rank: 0 },
  { name: "value", rank: 0 },
];

/** Checks `--fields` before the command reads or changes anything. @throws Failure `invalid-option-value` */
export const checkFactFields = (screen: Screen, keys: readonly string[]) => {
  checkKeys(screen, keys);
  if (!screen.isJson) for (const name of screen.fields ?? []) jsonFields.resolveField(name, columns);
};

export const printFacts = async (screen: Screen, page: ResultPage) => {
  const { facts, metrics = {}, metricsScope, next = [], document } = page;
  if (document && screen.isJson) return await printDocument(screen, document);
  if (screen.format !== "table" || screen.fields) {
    const data = [...(document === undefined ? facts : listMembers(document)), ...next];
    return await printObjects(screen, { data }, { member: "data", columns });
  }
  const toLines = (list: readonly ResultRow[], kind?: views.Line["kind"]) =>
    list.map(({ name, value }) => ({ label: name, text: String(value), kind }));
  const rounded = Object.entries(metrics).map(([name, value]) => ({ name, value: roundForDisplay(value) }));
  const title = metricsScope === undefined ? "Metrics" : `Metrics of ${metricsScope}`;
  const sections = [{ lines: toLines(facts) }, { title, lines: toLines(rounded) }, { lines: toLines(next, "command") }];
  await printPage(screen, { sections });
};
