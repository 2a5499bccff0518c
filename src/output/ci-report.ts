/** Prints annotations for GitHub Actions, and adds to the summary of the job. */
import { appendFileSync } from "node:fs";
import type { Problem } from "../failure.ts";
import { requireWritableFolder, writeUserFile } from "../system/files.ts";
import { formatPosition } from "../text/sentences.ts";
import { nameProgram } from "../text/shell-words.ts";
import type { TextCleaner } from "./cleaner.ts";
import type { Screen } from "./screen.ts";
import type { Section } from "./views.ts";

export type BuildReport = Readonly<{
  title: string;
  inputs?: readonly string[];
  problems: readonly Problem[];
  /** The numbers of all problems by rule, if `problems` has only the first. */
  counts?: readonly Readonly<{ rule: string; count: number }>[] | undefined;
  /** A result in addition to the problems, such as that of a comparison. */
  result?: Readonly<{ isFailure: boolean; text: string }>;
  /** Values for the summary, such as the metrics. */
  values?: readonly Readonly<{ name: string; value: string | number }>[] | undefined;
  /** Lists the blocks of the summary, as Markdown. Default: those of the values and problems. */
  listBlocks?: (quote: TextCleaner) => readonly string[];
}>;

/** @throws Failure `output-unwritable` */
export const printReport = async (screen: Screen, report: BuildReport) => {
  const { cleaner } = screen;
  // No text from outside becomes a command of the build system.
  const clean = (part: string) => cleaner.breakCommands(cleaner.text(part));
  const annotations = cleaner.redact(formatAnnotations(report, clean));
  await screen.print([annotations], "redact-only");
  const file = findSummary(screen);
  const summary = cleaner.redact(formatSummary(report, clean));
  // Other commands of the job add to the file, too.
  if (file !== undefined) writeUserFile(file, () => appendFileSync(file, summary));
};

const findSummary = ({ host }: Pick<Screen, "host">) => host.env.GITHUB_STEP_SUMMARY || undefined;

/** @throws Failure `output-unwritable` */
export const requireSummaryFile = (screen: Pick<Screen, "host">) => {
  const file = findSummary(screen);
  if (file !== undefined) requireWritableFolder(file);
};

const isError = ({ severity }: Problem) => severity === "error";

const maxAnnotationsPerRule = 50;

/** Puts errors first, and then the first problem of each rule, because GitHub shows few. */
const formatAnnotations = (report: BuildReport, clean: TextCleaner) => {
  const { problems } = report;
  const escapeValue = (value: string | number) => String(value).replaceAll(/[%\r\n:,]/g, encodeURIComponent);
  const annotated = new Map<string, number>();
  const chosen = problems.flatMap((problem) => {
    const rank = annotated.get(problem.rule) ?? 0;
    if (rank >= maxAnnotationsPerRule) return [];
    annotated.set(problem.rule, rank + 1);
    return { problem, rank };
  });
  const sorted = chosen.sort(
    (a, b) => Number(isError(b.problem)) - Number(isError(a.problem)) || Math.sign(a.rank) - Math.sign(b.rank),
  );
  const lines = sorted.map(({ problem }) => {
    const { file, line, column: col, severity, rule: title, message, advice = "" } = problem;
    const text = [message, nameProgram(advice)].filter(Boolean).join("\n");
    const properties = Object.entries({ file: file && clean(file), line, col, title });
    const pairs = properties.flatMap(([name, value]) => (value === undefined ? [] : `${name}=${escapeValue(value)}`));
    return `::${severity} ${pairs.join(",")}::${escapeData(clean(text))}\n`;
  });
  const left = Array.from(countByRule(report), ([rule, count]) => {
    const hidden = count - (annotated.get(rule) ?? 0);
    const text = `${hidden} more ${rule} (to list them, check the same input with --json)`;
    return hidden > 0 ? `::notice title=${rule}::${text}\n` : "";
  });
  return [...lines, ...left, annotateResult(report, clean)].join("");
};

const countByRule = ({ problems, counts = [] }: BuildReport) => {
  const totals = new Map(counts.map(({ rule, count }) => [rule, count] as const));
  if (counts.length === 0) for (const { rule } of problems) totals.set(rule, (totals.get(rule) ?? 0) + 1);
  return totals;
};

const escapeData = (text: string) => text.replaceAll(/[%\r\n]/g, encodeURIComponent);

const annotateResult = ({ title, result }: BuildReport, clean: TextCleaner) => {
  if (!result) return "";
  return `::${result.isFailure ? "error" : "notice"} title=${title}::${escapeData(clean(result.text))}\n`;
};

const maxInputs = 5;

const formatSummary = (report: BuildReport, clean: TextCleaner) => {
  const quote = (text: string) => quoteCode(clean(text));
  const blocks = report.listBlocks?.(quote) ?? listProblemBlocks(report, quote);
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
};

const listProblemBlocks = (report: BuildReport, quote: TextCleaner) => {
  const { title, inputs = [], problems, values = [] } = report;
  const shown = inputs.slice(0, maxInputs).map(quote).join(", ");
  const hidden = inputs.length > maxInputs ? ` and ${inputs.length - maxInputs} more` : "";
  const counts = countByRule(report);
  const rules = [...counts.keys()].flatMap((name) => problems.find(({ rule }) => rule === name) ?? []);
  const rows = rules
    .sort((a, b) => Number(isError(b)) - Number(isError(a)))
    .map((first) => {
      const { message, severity, rule } = first;
      return [quote(message), severity, quote(rule), String(counts.get(rule)), quote(formatPosition(first))];
    });
  const results = values.map(({ name, value }) => [quote(name), quote(String(value))]);
  return [
    `### ${title}: ${shown}${hidden}`,
    formatTable(["result", "value"], results),
    formatTable(["problem", "severity", "rule", "number", "first position"], rows),
    rows.length === 0 ? "No problem." : "",
  ];
};

/** Formats the lines of sections as tables. The caller shows sentences in another way. */
export const formatSections = (sections: readonly Section[], quote: TextCleaner): readonly string[] =>
  sections.map(({ title = "", lines = [] }) => {
    const rows = lines.filter(({ kind }) => kind !== "sentence").map(({ label, text }) => [quote(label), quote(text)]);
    return rows.length === 0 ? "" : [[title, ""], ["---", "---"], ...rows].map(formatRow).join("\n");
  });

/** Returns a code span of one line, in which no Markdown, HTML, link or name of a user has an effect. */
export const quoteCode = (text: string) => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line === "") return "";
  const longest = (line.match(/`+/g) ?? []).reduce((max, { length }) => Math.max(max, length), 0);
  const fence = "`".repeat(longest + 1);
  const padding = /^`|`$/.test(line) ? " " : "";
  // Renderers disagree about several backslashes before a pipe of a table.
  const separated = line.replaceAll(/\\+\|?/g, (run) => run.replace("|", " |"));
  const cell = separated.replaceAll("|", "\\|");
  return `${fence}${padding}${cell}${padding}${fence}`;
};

const formatRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

/** @param rows cells that are Markdown. Cells after the first are aligned to the right */
export const formatTable = (headings: readonly string[], rows: readonly (readonly string[])[]) => {
  const lines = [headings, headings.map((_, at) => (at === 0 ? "---" : "---:")), ...rows];
  return rows.length === 0 ? "" : lines.map(formatRow).join("\n");
};
