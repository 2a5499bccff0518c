/** The facts that a command prints about its result: names with values, metrics, and the next command. */
import { roundForDisplay } from "../../decimal.ts";
import { type Line, printPage, resolveField, type Screen } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import { keyColumns, printObjects } from "../lists/object-list.ts";

type Fact = Readonly<{ name: string; value: string | number }>;

export const toFacts = (values: Readonly<Record<string, Fact["value"] | null | undefined>>): readonly Fact[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined || value === null ? [] : [{ name, value }]));

export const formatUnreadable = (lines: number) => (lines === 0 ? "" : ` (${pluralize(lines, "unreadable line")})`);

type ResultPage = Readonly<{
  facts: readonly Fact[];
  metrics?: Readonly<Record<string, number>>;
  metricsScope?: string | undefined;
  next?: readonly Fact[];
}>;

const factColumns = { name: 0, value: 0 };

/** Refuses names in `--fields` that are not columns, before anything is sent. @throws Failure `invalid-option-value` */
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
