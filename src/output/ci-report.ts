/** Prints reports for build systems: workflow commands of GitHub, JUnit XML, or Markdown. */
import { appendFileSync } from "node:fs";
import type { Problem } from "../failure.ts";
import { requireOutputFile, requireWritableFolder, saveOutput, writeUserFile } from "../system/files.ts";
import { nameProgram } from "../system/program.ts";
import { formatPosition } from "../text/sentences.ts";
import type { TextCleaner } from "./cleaner.ts";
import { formatTable, quoteCode } from "./markdown.ts";
import type { Screen } from "./screen.ts";

export const reportForms = ["github", "junit", "markdown"] as const;
export type ReportForm = (typeof reportForms)[number];

export type BuildReport = Readonly<{
  form: ReportForm;
  /** Undefined for a report that is printed. */
  file: string | undefined;
  /** The permissions of the file. */
  mode: number;
  title: string;
  inputs: readonly string[];
  problems: readonly Problem[];
  /** The inputs that are invalid, although their problems may be about other inputs. */
  invalid?: ReadonlySet<string> | undefined;
  /** The numbers of all problems by rule, if `problems` has only the first. */
  counts?: readonly Readonly<{ rule: string; count: number }>[] | undefined;
  /** A result in addition to the problems, such as that of a comparison. */
  result?: Readonly<{ name: string; status: "passed" | "failed" | "skipped"; text: string }>;
  /** Values for Markdown, such as the metrics. */
  values?: readonly Readonly<{ name: string; value: string | number }>[] | undefined;
  /** Lists the blocks of the Markdown. Default: those of the values and problems. */
  listBlocks?: (quote: TextCleaner) => readonly string[];
}>;

/** Prints or writes a report. @throws Failure `output-exists`, `output-unwritable` */
export const printReport = async (screen: Screen, report: BuildReport) => {
  const { form, file, mode } = report;
  const { cleaner } = screen;
  // No text from outside becomes a command of the build system.
  const clean = (part: string) => cleaner.breakCommands(cleaner.text(part));
  const text = cleaner.redactLines(formats[form](report, clean));
  if (file === undefined) return await screen.printUnpaged([text], "redact-only");
  if (isJobSummary(file, screen)) return writeUserFile(file, () => appendFileSync(file, text));
  const formatMark = (mark: string) => (form === "github" ? `::debug::${mark}\n` : `<!-- ${mark} -->\n`);
  await saveOutput({ file, pieces: [text], mode, formatMark }, screen.host);
};

/** Several commands of a step can add to the summary of a job in GitHub Actions. */
const isJobSummary = (file: string, { host }: Pick<Screen, "host">) => file === host.env.GITHUB_STEP_SUMMARY;

/** @throws Failure `output-exists`, `output-unwritable` */
export const requireReportFile = (file: string, screen: Pick<Screen, "host">) =>
  isJobSummary(file, screen) ? requireWritableFolder(file) : requireOutputFile(file);

const isError = ({ severity }: Problem) => severity === "error";

const maxAnnotationsPerRule = 50;

/** Puts errors first, and then the first problem of each rule, because GitHub shows few. */
const formatGithub = (report: BuildReport, clean: TextCleaner) => {
  const { problems } = report;
  const escapeValue = (value: string | number) => String(value).replaceAll(/[%\r\n:,]/g, encodeURIComponent);
  const annotated = new Map<string, number>();
  const files = new Set<string>();
  // Each file has an annotation of each severity that its problems have.
  const chosen = problems.flatMap((problem) => {
    const rank = annotated.get(problem.rule) ?? 0;
    const file = `${problem.severity} ${problem.file}`;
    if (rank >= maxAnnotationsPerRule && files.has(file)) return [];
    annotated.set(problem.rule, rank + 1);
    files.add(file);
    return { problem, rank };
  });
  const sorted = chosen.sort(
    (a, b) => Number(isError(b.problem)) - Number(isError(a.problem)) || Math.sign(a.rank) - Math.sign(b.rank),
  );
  const lines = sorted.map(({ problem }) => {
    const { file, line, column: col, severity, rule: title } = problem;
    const properties = Object.entries({ file: file && clean(file), line, col, title });
    const pairs = properties.flatMap(([name, value]) => (value === undefined ? [] : `${name}=${escapeValue(value)}`));
    return `::${severity} ${pairs.join(",")}::${escapeData(clean(formatProblem(problem)))}\n`;
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
  return `::${result.status === "failed" ? "error" : "notice"} title=${title}::${escapeData(clean(result.text))}\n`;
};

const formatProblem = ({ message, advice = "" }: Problem) => [message, nameProgram(advice)].filter(Boolean).join("\n");

const formatJunit = ({ title, inputs, problems, invalid, result }: BuildReport, clean: TextCleaner) => {
  const names = new Set<string | undefined>(inputs);
  const others = problems.filter(({ file }) => !names.has(file));
  const isAllInvalid = others.some(isError);
  const suites = Array.from(names, (name = "") => ({
    name,
    problems: problems.filter(({ file }) => file === name),
    isInvalid: isAllInvalid || invalid?.has(name) === true,
  }));
  if (others.length > 0) suites.push({ name: "all inputs", problems: others, isInvalid: isAllInvalid });
  const own = result ? [formatSuite(escapeAttribute(title), [formatResult(title, result, clean)])] : [];
  const body = [...own, ...suites.map((suite) => formatProblems(suite, clean))].join("");
  const head = `<testsuites name="${escapeAttribute(title)}" ${countTests(body)}>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${body}</testsuites>\n`;
};

const countTests = (xml: string) => {
  const count = (element: string) => xml.split(element).length - 1;
  return `tests="${count("<testcase ")}" failures="${count("<failure ")}" errors="0"`;
};

const formatSuite = (name: string, cases: readonly string[]) => {
  const tests = cases.join("");
  const skipped = tests.split("<skipped ").length - 1;
  return `  <testsuite name="${name}" ${countTests(tests)} skipped="${skipped}">\n${tests}  </testsuite>\n`;
};

const formatResult = (title: string, result: NonNullable<BuildReport["result"]>, clean: TextCleaner) => {
  const { name, status, text } = result;
  const shown = escapeXml(clean(text));
  const [message = ""] = clean(text).split("\n");
  const body = {
    passed: `<system-out>${shown}</system-out>`,
    failed: `<failure type="${escapeAttribute(name)}" message="${escapeAttribute(message)}">${shown}</failure>`,
    skipped: `<skipped message="${escapeAttribute(message)}"/>`,
  }[status];
  return `    <testcase classname="${escapeAttribute(title)}" name="${escapeAttribute(name)}">${body}</testcase>\n`;
};

type Suite = Pick<BuildReport, "problems"> & { name: string; isInvalid: boolean };

const formatProblems = (suite: Suite, clean: TextCleaner) => {
  const name = escapeAttribute(clean(suite.name));
  const cases = suite.problems.map((problem) => {
    const { rule, line, column, message } = problem;
    const position = [line, column].filter(Boolean).join(":");
    const text = escapeXml(clean(formatProblem(problem)));
    const body = isError(problem)
      ? `<failure type="${escapeAttribute(rule)}" message="${escapeAttribute(clean(message))}">${text}</failure>`
      : `<system-out>warning: ${text}</system-out>`;
    const title = escapeAttribute(position === "" ? rule : `${rule} at ${position}`);
    return `    <testcase classname="${name}" name="${title}">${body}</testcase>\n`;
  });
  if (!suite.isInvalid && !suite.problems.some(isError))
    cases.unshift(`    <testcase classname="${name}" name="is valid"/>\n`);
  return formatSuite(name, cases);
};

const maxInputs = 5;

const formatMarkdown = (report: BuildReport, clean: TextCleaner) => {
  const quote = (text: string) => quoteCode(clean(text));
  const blocks = report.listBlocks?.(quote) ?? listProblemBlocks(report, quote);
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
};

const listProblemBlocks = (report: BuildReport, quote: TextCleaner) => {
  const { title, inputs, problems, values = [] } = report;
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

const formats = { github: formatGithub, junit: formatJunit, markdown: formatMarkdown };

const nonXmlCharacters = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const escapeXml = (text: string) =>
  text.replace(nonXmlCharacters, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const escapeAttribute = (text: string) =>
  escapeXml(text)
    .replaceAll('"', "&quot;")
    .replaceAll(/[\t\n\r]/g, (space) => `&#${space.charCodeAt(0)};`);
