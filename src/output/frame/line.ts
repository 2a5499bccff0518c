/** A problem in a line or two, for a pipe and a log: nothing is measured, and what measures text is not loaded. */
import type { Problem, Where } from "../../failure.ts";
import { oneLine } from "../screen/safe.ts";
import type { Paint } from "../screen/style.ts";

/** How text from outside is made fit to print. */
export type Clean = (text: string) => string;

/** `file:line:column`, as far as known. */
export const placeOf = ({ file, line, column }: Pick<Where, "file" | "line" | "column">): string =>
  [file === "-" ? "standard input" : (file ?? "(input)"), line, column].filter((part) => part !== undefined).join(":");

/** What is wrong; the field is named where no column says it, and where a service says only what it expects. */
export const messageOf = ({ from, column, path = [], message }: Problem): string =>
  (from === "service" || column === undefined) && path.length > 0 ? `${path.join(".")}: ${message}` : message;

/** How many more of the kind there are, and where the first of them stand; undefined where there are none. */
export const othersOf = ({ others, file }: Problem, cut: string): string | undefined => {
  if (others === undefined) return undefined;
  // A place in the file that was named already needs no name.
  const isNamed = (place: string): boolean => file !== undefined && place.startsWith(`${file}:`);
  const places = others.places.map((place) =>
    isNamed(place) ? place.slice(file?.length) : place.replace(/^-(?=:|$)/, "standard input"),
  );
  const left = others.count > places.length ? `, ${cut}` : "";
  return `and ${others.count} more${places.length === 0 ? "" : `: ${places.join(", ")}${left}`}`;
};

/** A problem: its place, its severity, what is wrong, the rule's name, where else, and what to do; of one that was said already, where else. */
export const problemLines = (
  problem: Problem,
  { clean, paint, isSaid }: { readonly clean: Clean; readonly paint: Paint; readonly isSaid: boolean },
): readonly string[] => {
  const others = othersOf(problem, "…");
  if (isSaid) return others === undefined ? [] : [`  ${oneLine(clean(others))}`];
  const place = problem.file === undefined && problem.line === undefined ? "" : `${oneLine(clean(placeOf(problem)))}: `;
  const severity = paint(problem.severity === "error" ? "bad" : "warning", `${problem.severity}:`);
  const rule = paint("faint", `[${problem.rule}]`);
  const more = [others, problem.advice].filter((text) => text !== undefined);
  return [
    `${place}${severity} ${oneLine(clean(messageOf(problem)))} ${rule}`,
    ...more.map((text) => `  ${oneLine(clean(text))}`),
  ];
};
