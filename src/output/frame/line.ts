/** A problem in a line or two, for a pipe and a log: nothing is measured, and what measures text is not loaded. */
import type { Problem } from "../../failure.ts";
import { oneLine } from "../screen/safe.ts";
import type { Paint } from "../screen/style.ts";

/** How text from outside is made fit to print. */
export type Clean = (text: string) => string;

/** `file:line:column`, as far as known. */
export const placeOf = ({ file, line, column }: { file?: string; line?: number; column?: number }): string =>
  [file === "-" ? "standard input" : (file ?? "(input)"), line, column].filter((part) => part !== undefined).join(":");

/** A problem: its place, its severity, what is wrong, the rule's name, and what to do. */
export const problemLines = (problem: Problem, clean: Clean, paint: Paint): readonly string[] => {
  const place = problem.file === undefined && problem.line === undefined ? "" : `${oneLine(clean(placeOf(problem)))}: `;
  const severity = paint(problem.severity === "error" ? "bad" : "warning", `${problem.severity}:`);
  const rule = paint("faint", `[${problem.rule}]`);
  return [
    `${place}${severity} ${oneLine(clean(problem.message))} ${rule}`,
    ...(problem.advice === undefined ? [] : [`  ${oneLine(clean(problem.advice))}`]),
  ];
};
