/** Reports of problems for build systems: workflow commands of GitHub, and JUnit XML. */

import { readFileSync, statSync } from "node:fs";
import { Failure, type Problem } from "../../failure.ts";
import { codeOf, writeWhole } from "../../files.ts";
import { reportExists, reportUnwritable } from "../failures.ts";
import type { ReportForm } from "../screen/options.ts";
import type { Screen } from "../screen/screen.ts";
import type { Clean } from "./line.ts";

/** What is reported. */
export interface Report {
  readonly form: ReportForm;
  /** Name of the JUnit suites; `rollcall check` where nothing is said. */
  readonly title?: string;
  /** Where it is written; standard output where none is named. */
  readonly file: string | undefined;
  /** Names of all inputs, in their order. */
  readonly inputs: readonly string[];
  readonly problems: readonly Problem[];
  /** Mode of the file, as far as the umask leaves it. Default: everybody may read it, because a build system does. */
  readonly mode?: number;
}

/** Prints a report for a build system, or writes it to its file. @throws Failure `report-exists`, `report-unwritable` */
export const printReport = async (screen: Screen, report: Report): Promise<void> => {
  const { safe } = screen;
  // Its own commands are what the GitHub form is for; in what they say, and in JUnit's XML, no others may stand.
  const text = safe.verbatim(reportText(report, (own) => safe.lines(safe.text(own))));
  await (report.file === undefined
    ? screen.print([text], { kind: "verbatim", paged: false })
    : writeReport(report.file, text, report.mode ?? 0o666));
};

const reportText = ({ form, title = "rollcall check", inputs, problems }: Report, clean: Clean): string =>
  form === "github" ? githubText(problems, clean) : junitText({ title, inputs, problems }, clean);

const writeReport = (file: string, text: string, mode: number): void => {
  requireReportPlace(file, []);
  writing(file, () => writeWhole(file, [text], mode));
};

/** Makes sure that a report may be written: over one of rollcall's own, but over no input. @throws Failure `report-exists`, `report-unwritable` */
export const requireReportPlace = (file: string, inputs: readonly string[]): void =>
  writing(file, () => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile()) return;
    const isInput = inputs.some((input) => {
      const own = statSync(input, { throwIfNoEntry: false });
      return own?.ino === stats.ino && own.dev === stats.dev;
    });
    if (isInput || !isReport(readFileSync(file, "utf8"))) throw reportExists(file);
  });

/** Whether a text is a report that rollcall wrote; one of GitHub's may be empty. */
const isReport = (text: string): boolean =>
  text.startsWith(`${xmlHead}\n<testsuites name="rollcall `) || text.split("\n").every(isCommand);

const isCommand = (line: string): boolean => line === "" || /^::(?:error|warning) /.test(line);

const writing = (file: string, run: () => void): void => {
  try {
    run();
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : reportUnwritable(file, codeOf(thrown));
  }
};

/** Errors first: GitHub shows ten of each kind. */
const githubText = (problems: readonly Problem[], clean: Clean): string =>
  [...problems]
    .sort((a, b) => Number(b.severity === "error") - Number(a.severity === "error"))
    .map((problem) => {
      const { file, line, column, severity, rule } = problem;
      const properties = [
        ...(file === undefined ? [] : [`file=${propertyOf(clean(file))}`]),
        ...(line === undefined ? [] : [`line=${line}`]),
        ...(column === undefined ? [] : [`col=${column}`]),
        `title=${propertyOf(rule)}`,
      ];
      return `::${severity} ${properties.join(",")}::${dataOf(clean(sentencesOf(problem)))}\n`;
    })
    .join("");

const sentencesOf = ({ message, advice, others }: Problem): string =>
  [
    message,
    ...(others === undefined ? [] : [`and ${others.count} more: ${others.places.join(", ")}`]),
    ...(advice === undefined ? [] : [advice]),
  ].join("\n");

/** As GitHub's runner unescapes what a command says. */
const dataOf = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

const propertyOf = (text: string): string => dataOf(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

/** What a report of JUnit begins with. */
const xmlHead = '<?xml version="1.0" encoding="UTF-8"?>';

/** One suite for each input, and one for what is in none. */
const junitText = (
  { title, inputs, problems }: Pick<Report, "inputs" | "problems"> & { readonly title: string },
  clean: Clean,
): string => {
  const names = [...new Set(inputs)];
  const others = problems.filter(({ file }) => file === undefined || !names.includes(file));
  const suites = [
    ...names.map((name) => ({ name, own: problems.filter(({ file }) => file === name) })),
    ...(others.length === 0 ? [] : [{ name: "all inputs", own: others }]),
  ];
  const failures = problems.filter(isError).length;
  return [
    xmlHead,
    `<testsuites name="${attributeOf(title)}" tests="${suites.reduce((sum, { own }) => sum + testsOf(own), 0)}" failures="${failures}" errors="0">`,
    ...suites.flatMap(({ name, own }) => suiteLines(name, own, clean)),
    "</testsuites>",
    "",
  ].join("\n");
};

const isError = ({ severity }: Problem): boolean => severity === "error";

/** Each problem is a test; an input without errors passes one. */
const testsOf = (problems: readonly Problem[]): number => problems.length + (problems.some(isError) ? 0 : 1);

const suiteLines = (name: string, problems: readonly Problem[], clean: Clean): readonly string[] => {
  const suite = attributeOf(clean(name));
  return [
    `  <testsuite name="${suite}" tests="${testsOf(problems)}" failures="${problems.filter(isError).length}" errors="0" skipped="0">`,
    ...(problems.some(isError) ? [] : [`    <testcase classname="${suite}" name="is valid"/>`]),
    ...problems.flatMap((problem) => caseLines(problem, suite, clean)),
    "  </testsuite>",
  ];
};

const caseLines = (problem: Problem, suite: string, clean: Clean): readonly string[] => {
  const { rule, line, column, message } = problem;
  const place = [line, column].filter((part) => part !== undefined).join(":");
  const name = attributeOf(place === "" ? rule : `${rule} at ${place}`);
  const text = textOf(clean(sentencesOf(problem)));
  const body = isError(problem)
    ? `<failure type="${attributeOf(rule)}" message="${attributeOf(clean(message))}">${text}</failure>`
    : `<system-out>warning: ${text}</system-out>`;
  return [`    <testcase classname="${suite}" name="${name}">${body}</testcase>`];
};

/** Characters that XML 1.0 can't hold, in any spelling. */
const notXml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const textOf = (text: string): string =>
  text.replace(notXml, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const attributeOf = (text: string): string =>
  textOf(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;").replaceAll("\r", "&#13;").replaceAll("\t", "&#9;");
