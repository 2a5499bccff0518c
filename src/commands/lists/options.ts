/** The options that commands which list models have in common: what picks the models, their order, where catalogs come from. */
import { type Command, Option } from "commander";

/** The options that pick models, as typed. */
export interface TypedFilter {
  readonly inputModality?: readonly string[];
  readonly outputModality?: readonly string[];
  readonly feature?: readonly string[];
  readonly parameter?: readonly string[];
  readonly quantization?: readonly string[];
  readonly country?: readonly string[];
  readonly onlyCountry?: readonly string[];
  readonly minContext?: string;
  readonly minOutput?: string;
  readonly maxPrice?: readonly string[];
  readonly free?: boolean;
  readonly deprecated?: boolean;
  readonly notDeprecated?: boolean;
  readonly deprecatedWithin?: string;
  readonly createdSince?: string;
}

/** The heading of the options that pick models. */
const filters = "filters";

/** Declares the options that pick models, in a group of their own. */
export const filterOptions = (command: Command): Command =>
  command
    .optionsGroup(filters)
    .option("--input-modality <name>", "takes it: text, image, audio, …; several: all of them", gathered)
    .option("--output-modality <name>", "gives it; several: all of them", gathered)
    .option("--feature <name>", "has it, such as tools; several: all of them", gathered)
    .option("--parameter <name>", "takes this sampling parameter; several: all of them", gathered)
    .option("--quantization <name>", "runs in it, such as fp8; several: one of them", gathered)
    .option("--country <code>", "has a data centre there, such as FI or EU; several: in one of them", gathered)
    .option("--only-country <code>", "has all its data centres there; several: in one of them", gathered)
    .option("--min-context <tokens>", "has room for so many, such as 128k")
    .option("--min-output <tokens>", "gives up to so many")
    .option("--max-price <prices>", "costs at most, in the table's units: prompt=0.5,completion=2", gathered)
    .option("--free", "costs nothing")
    .option("--deprecated", "its deprecation date has come")
    .option("--not-deprecated", "it has not, or none is set")
    .option("--deprecated-within <duration>", "it has come, or comes within such a time: 30d, or by a date")
    .option("--created-since <when>", "came since then: a date, or an age such as 90d");

/** The first of those options that was typed. */
export const filterTyped = (command: Command): string | undefined =>
  command.options.find(
    (option) => option.helpGroupHeading === filters && command.getOptionValue(option.attributeName()) !== undefined,
  )?.long;

/** Gathers the values of an option that stands several times, or lists its values with commas. */
const gathered = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...value.split(",").map((one) => one.trim()),
];

/** `--sort` and `--limit` as typed. */
export interface TypedOrder {
  readonly sort?: readonly string[];
  readonly limit?: string;
}

/** Declares `--sort` and `--limit`, in a group of their own. */
export const orderOptions = (command: Command): Command =>
  command
    .optionsGroup("order")
    .option("--sort <columns>", "by a column, then by others; -column for descending", gathered)
    .option("--limit <n>", "only the first of them");

/** The options that say where catalogs come from, as typed. */
export interface TypedSource {
  readonly maxAge?: string;
  readonly offline?: boolean;
}

/** Declares the options that say where catalogs come from. */
export const sourceOptions = (command: Command): Command =>
  command
    .option("--max-age <duration>", "use a copy no older than this, such as 1h")
    .option("--offline", "use the copy, however old, and ask nobody");

/** Declares the option that names one catalog. */
export const catalogOption = (command: Command): Command =>
  command.addOption(new Option("--catalog <analysis|router>", "only that catalog").choices(["analysis", "router"]));
