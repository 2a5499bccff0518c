/** Prints the facts of a result. */

import { roundForDisplay } from "../../text/decimal.ts";
import { pluralize } from "../../text/sentences.ts";
import { resolveField } from "../json-fields.ts";
import { checkKeys, printDocument, printObjects } from "../list.ts";
import { printPage } from "../page.ts";
import type { Screen } from "../screen.ts";
import type { KeyColumn, Line } from "../views.ts";

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

/** Lists the members of a document by their dotted names, except lists and nulls. */
const listMembers = (document: object, prefix = ""): readonly ResultRow[] =>
  Object.entries(document).flatMap(([key, value]: [string, unknown]): readonly ResultRow[] => {
    const name = prefix + key;
    if (typeof value === "string" || typeof value === "number") return [{ name, value }];
    if (typeof value === "boolean") return [{ name, value: String(value) }];
    return typeof value !== "object" || value === null || Array.isArray(value) ? [] : listMembers(value, `${name}.`);
  });

const columns: readonly KeyColumn<ResultRow>[] = [
  { name: "name", rank: 0 },
  { name: "value", rank: 0 },
];

/** Checks `--fields` before the command reads or changes anything. @throws Failure `invalid-option-value` */
export const checkFactFields = (screen: Screen, keys: readonly string[]) => {
  checkKeys(screen, keys);
  if (!screen.isForProgram) for (const name of screen.fields ?? []) resolveField(name, columns);
};

export const printFacts = async (screen: Screen, page: ResultPage) => {
  const { facts, metrics = {}, metricsScope, next = [], document } = page;
  if (document && screen.isForProgram) return await printDocument(screen, document);
  if (screen.format !== "table" || screen.fields) {
    const data = [...(document === undefined ? facts : listMembers(document)), ...next];
    return await printObjects(screen, { data }, { member: "data", columns });
  }
  const toLines = (list: readonly ResultRow[], kind?: Line["kind"]) =>
    list.map(({ name, value }) => ({ label: name, text: String(value), kind }));
  const rounded = Object.entries(metrics).map(([name, value]) => ({ name, value: roundForDisplay(value) }));
  const title = metricsScope === undefined ? "Metrics" : `Metrics of ${metricsScope}`;
  const sections = [{ lines: toLines(facts) }, { title, lines: toLines(rounded) }, { lines: toLines(next, "command") }];
  await printPage(screen, { sections });
};
