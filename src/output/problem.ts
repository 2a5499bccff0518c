/** The texts of a problem, and its lines in a pipe and a log: what measures text is not loaded for them. */
import type { FailureLocation, Problem } from "../failure.ts";
import { toOneLine } from "./cleaner.ts";
import type { Paint } from "./style.ts";

/** Makes text from outside fit to print. */
export type TextCleaner = (text: string) => string;

/** `file:line:column`, as far as known. */
export const formatPosition = ({ file, line, column }: Pick<FailureLocation, "file" | "line" | "column">): string =>
  [file === "-" ? "standard input" : (file ?? "(input)"), line, column].filter((part) => part !== undefined).join(":");

/** The texts of a problem; nothing in them is made safe yet. */
export const formatProblemParts = (problem: Problem, ellipsis: string) => {
  const { file, line, column, path = [], from, message, others } = problem;
  // A position in the file that was named already needs no name.
  const shortenLocation = (place: string): string =>
    file !== undefined && place.startsWith(`${file}:`)
      ? place.slice(file.length)
      : place.replace(/^-(?=:|$)/, "standard input");
  const places = others?.places.map(shortenLocation) ?? [];
  const left = others !== undefined && others.count > places.length ? `, ${ellipsis}` : "";
  return {
    position: file === undefined && line === undefined ? "" : `${formatPosition(problem)}: `,
    severity: `${problem.severity}:`,
    tone: problem.severity === "error" ? ("bad" as const) : ("warning" as const),
    /** The field is named if no column says it, or if a service says only what it expects. */
    message:
      (from === "service" || column === undefined) && path.length > 0 ? `${path.join(".")}: ${message}` : message,
    rule: `[${problem.rule}]`,
    others: others && `and ${others.count} more${places.length === 0 ? "" : `: ${places.join(", ")}${left}`}`,
  };
};

/** A problem in a line or two, for a pipe and a log. */
export const formatProblemLines = (
  problem: Problem,
  {
    clean,
    paint,
    isSaid: isInMessage,
  }: { readonly clean: TextCleaner; readonly paint: Paint; readonly isSaid: boolean },
): readonly string[] => {
  const { position, severity, tone, message, rule, others } = formatProblemParts(problem, "…");
  const line = (text: string): string => toOneLine(clean(text));
  const more = [others, isInMessage ? undefined : problem.advice].flatMap((text) =>
    text === undefined ? [] : `  ${line(text)}`,
  );
  if (isInMessage) return more;
  const place = position === "" ? "" : `${line(position.slice(0, -2))}: `;
  return [`${place}${paint(tone, severity)} ${line(message)} ${paint("faint", rule)}`, ...more];
};
