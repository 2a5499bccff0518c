/** Formats problems for a pipe and a log, without loading the code that measures text. */
import type { FailureLocation, Problem } from "../failure.ts";
import { toOneLine } from "./cleaner.ts";
import type { Paint } from "./style.ts";

/** Makes text from outside safe to print. */
export type TextCleaner = (text: string) => string;

/** `file:line:column`, as far as known. */
export const formatPosition = ({ file, line, column }: Pick<FailureLocation, "file" | "line" | "column">): string =>
  [file === "-" ? "standard input" : (file ?? "(input)"), line, column].filter((part) => part !== undefined).join(":");

/** The texts of a problem, not yet safe to print. */
export const formatProblemParts = (problem: Problem, ellipsis: string) => {
  const { file, line, column, path = [], from, message, others } = problem;
  const shortenLocation = (location: string): string =>
    file !== undefined && location.startsWith(`${file}:`)
      ? location.slice(file.length)
      : location.replace(/^-(?=:|$)/, "standard input");
  const locations = others?.places.map(shortenLocation) ?? [];
  const left = others !== undefined && others.count > locations.length ? `, ${ellipsis}` : "";
  // A column replaces the path, except for a service, whose message may name only the expected value.
  const isPathShown = path.length > 0 && (from === "service" || column === undefined);
  return {
    position: file === undefined && line === undefined ? "" : `${formatPosition(problem)}: `,
    severity: `${problem.severity}:`,
    tone: problem.severity === "error" ? ("bad" as const) : ("warning" as const),
    message: isPathShown ? `${path.join(".")}: ${message}` : message,
    rule: `[${problem.rule}]`,
    others: others && `and ${others.count} more${locations.length === 0 ? "" : `: ${locations.join(", ")}${left}`}`,
  };
};

/** A problem on one line, then its further locations and its advice. */
export const formatProblemLines = (
  problem: Problem,
  { clean, paint, isInMessage }: { readonly clean: TextCleaner; readonly paint: Paint; readonly isInMessage: boolean },
): readonly string[] => {
  const { position, severity, tone, message, rule, others } = formatProblemParts(problem, "…");
  const line = (text: string): string => toOneLine(clean(text));
  const more = [others, isInMessage ? undefined : problem.advice].flatMap((text) =>
    text === undefined ? [] : `  ${line(text)}`,
  );
  if (isInMessage) return more;
  const location = position === "" ? "" : `${line(position.slice(0, -2))}: `;
  return [`${location}${paint(tone, severity)} ${line(message)} ${paint("faint", rule)}`, ...more];
};
