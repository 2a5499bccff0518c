/** The global options that are about the screen: what was typed, and what it means. */
import { optionsContradict, optionValueWrong } from "../../failures.ts";
import { nearest } from "../../nearest.ts";
import type { Format } from "../view.ts";

/** The global options that are about the screen, as meant. */
export interface ScreenWords {
  /** Undefined where none was asked for: a table on a terminal, else tsv. */
  readonly format: Format | undefined;
  readonly fields: readonly string[] | undefined;
  readonly header: boolean;
  readonly quiet: boolean;
  readonly color: ColorWhen;
  readonly pager: boolean;
  readonly debug: boolean;
  /** Whether standard error is a line of JSON for everything that is said: `--progress json`. */
  readonly events?: boolean;
}

/** The global options that are about the screen, as typed. */
export interface TypedScreen {
  readonly json?: boolean | undefined;
  readonly output?: string | undefined;
  readonly fields?: string | undefined;
  readonly header?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  /** False for `--no-color`. */
  readonly color?: string | boolean | undefined;
  readonly pager?: boolean | undefined;
  readonly debug?: boolean | undefined;
}

/** When there is colour. */
export const colorWhens = ["auto", "always", "never"] as const;

/** A word of `--color`. */
export type ColorWhen = (typeof colorWhens)[number];

/** Every form by its name, in the order of `--help`. */
export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const satisfies readonly Format[];

/** What typed global options mean for the screen. @throws Failure `option-value-wrong`, `options-contradict` */
export const screenWords = (typed: TypedScreen): ScreenWords => ({
  format: formatOf(typed),
  fields: typed.fields === undefined ? undefined : fieldsOf(typed.fields),
  header: typed.header === true,
  quiet: typed.quiet === true,
  color: colorWhens.find((when) => when === typed.color) ?? (typed.color === false ? "never" : "auto"),
  pager: typed.pager !== false,
  debug: typed.debug === true,
});

const formatOf = ({ json, output }: TypedScreen): Format | undefined => {
  const asked = output === undefined ? undefined : formatNamed(output);
  if (json !== true) return asked;
  if (asked !== undefined && asked !== "json") {
    throw optionsContradict({
      first: "--json",
      second: `-o ${asked}`,
      why: "--json is -o json",
    });
  }
  return "json";
};

const formatNamed = (value: string): Format => {
  const found = formats.find((format) => format === value);
  if (found !== undefined) return found;
  throw optionValueWrong({
    option: "--output",
    value,
    wanted: `${formats.slice(0, -1).join(", ")} or ${formats.at(-1)}`,
    suggestion: nearest(value, formats),
  });
};

const fieldsOf = (typed: string): readonly string[] => {
  const names = typed.split(",").map((name) => name.trim());
  if (names.every((name) => name !== "")) return names;
  throw optionValueWrong({
    option: "--fields",
    value: typed,
    wanted: "names separated by commas, such as id,name",
  });
};

/** The forms of a report. */
export const reportForms = ["github", "junit"] as const;

/** A form of a report. */
export type ReportForm = (typeof reportForms)[number];
