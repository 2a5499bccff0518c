/** What can stand for the value of an option or for an argument: known without a network, a credential or a program. */
import { type Argument, type Command, Option } from "commander";
import { idsOfCopies, knownWords, lockRuleNames, type WordField } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import { callFields, reportForms } from "../../output/index.ts";
import {
  dataFolder,
  describeSetting,
  profileNames,
  savedTexts,
  settingNames as settings,
} from "../../settings/index.ts";
import {
  catalogColumns,
  changeColumns,
  costColumns,
  findingColumns,
  joinedColumns,
  namedAsInJson,
} from "../catalog/columns.ts";
import { modelColumns } from "../models/columns.ts";
import type { Candidate, ValueKind, Values } from "./candidates.ts";

/** Splits that people use; a setting may name others. */
const usualSplits = ["train", "val", "test"];

/** What is known in this run. */
export const valuesIn =
  (context: Context): Values =>
  async (about) => {
    const choices = about.taker.argChoices;
    if (choices !== undefined) return words(choices);
    const named = sources[nameOf(about.taker, about.command)];
    return named === undefined ? byPlaceholder(about.taker) : await named({ ...about, context });
  };

type Source = (about: Parameters<Values>[0] & { readonly context: Context }) => ValueKind | Promise<ValueKind>;

const words = (texts: readonly string[]): readonly Candidate[] => texts.map((text) => ({ text, about: "" }));

/** What an option or argument is called in the table below. */
const nameOf = (taker: Option | Argument, command: Command): string =>
  taker instanceof Option ? (taker.long ?? "") : `${command.parent?.name() ?? ""} ${command.name()} <${taker.name()}>`;

const saved =
  (name: "split" | "batch" | "project", usual: readonly string[] = []): Source =>
  ({ context }) => {
    const own = context.host.env[`ROLLCALL_${name.toUpperCase()}`];
    return words([...new Set([...(own === undefined ? [] : [own]), ...savedTexts(context.host, name), ...usual])]);
  };

const settingNames: Source = () => settings.map((name) => ({ text: name, about: describeSetting(name) }));

/** Words of a filter that the field knows, and what follows each. */
const filterWords =
  (field: WordField, behind = ""): Source =>
  ({ typed }) =>
    nextInList(
      knownWords[field].map((word) => word + behind),
      typed,
    );

/** The next word of a name that words before begin. */
const outputWords: Source = async ({ taken }) => {
  const { outputs } = await import("../schema/schemas.ts");
  const begun = [...taken, ""].join(" ");
  const names = outputs.map(({ name }) => name).filter((name) => name.startsWith(begun));
  return words([...new Set(names.map((name) => name.slice(begun.length).split(" ")[0] ?? ""))]);
};

/** Ids of catalogs that were read before. */
const readBefore: Source = ({ context }) => {
  const folder = dataFolder(context.host);
  return words(folder === undefined ? [] : idsOfCopies(folder));
};

const savedProfiles: Source = ({ context }) => words(profileNames(context.host));

const sources: Readonly<Record<string, Source>> = {
  "--profile": savedProfiles,
  "--split": saved("split", usualSplits),
  "--batch": saved("batch"),
  "--project": saved("project"),
  "--sort": (about) => {
    const { typed } = about;
    const sign = typed.slice(typed.lastIndexOf(",") + 1).startsWith("-") ? "-" : "";
    return nextInList(
      columnsOf(about).map((name) => sign + name),
      typed,
    );
  },
  "--input-modality": filterWords("inputModalities"),
  "--output-modality": filterWords("outputModalities"),
  "--feature": filterWords("features"),
  "--parameter": filterWords("parameters"),
  "--quantization": filterWords("quantizations"),
  "--country": filterWords("countries"),
  "--only-country": filterWords("onlyCountries"),
  "--max-price": filterWords("maxPrices", "="),
  "--deprecated-within": () => words(["7d", "30d", "90d"]),
  "--created-since": () => words(["30d", "90d", "365d"]),
  "--fields": (about) => nextInList(columnsOf(about), about.typed),
  "--allow": async ({ command }) =>
    words(command.parent?.name() === "catalog" ? lockRuleNames : (await import("../../check/index.ts")).warningRules),
  "--max-age": () => words(["10m", "1h", "1d"]),
  "--since": () => words(["1d", "7d", "30d"]),
  "--max-rise": () => words(["0%", "5%", "10%"]),
  "--within": () => words(["30d", "60d", "90d"]),
  "--path": () => words(callFields),
  "--reward-from": () => words(["attributes.reward", "output.score", "summary"]),
  "--report": () => words(reportForms),
  "rollcall explain <name>": async () =>
    (await import("../explain/pages.ts")).topics.map(({ name, about }) => ({ text: name, about })),
  "catalog show <id>": readBefore,
  "rollcall schema <command>": outputWords,
  "config get <name>": settingNames,
  "config set <name>": settingNames,
  "config unset <name>": settingNames,
  "--store": () => "files",
  "profile use <name>": savedProfiles,
  "profile delete <name>": savedProfiles,
  "profile rename <from>": savedProfiles,
};

/** Names of the columns or fields that a command prints. */
const columnsOf = ({ command, options, taker }: Parameters<Values>[0]): readonly string[] => {
  if (command.name() === "models" && !options.has("--with-prices")) return modelColumns.map(({ name }) => name);
  const isJoined = command.parent?.name() === "catalog" && ["all", "show"].includes(command.name());
  if (isJoined || command.name() === "models") {
    // An order is one of columns, whatever is printed.
    const asJson = options.has("--json") && taker instanceof Option && taker.long === "--fields";
    const columns = joinedColumns(catalogColumns(), { withModels: !isJoined });
    return (asJson ? namedAsInJson(columns) : columns).map(({ name }) => name);
  }
  if (command.parent?.name() === "catalog")
    return (ownColumns[command.name()] ?? catalogColumns()).map(({ name }) => name);
  return command.parent?.name() === "call" ? callFields : [];
};

/** The columns of the verbs of `catalog` that print others than a catalog's. */
const ownColumns: Readonly<Record<string, readonly { readonly name: string }[]>> = {
  diff: changeColumns({ sides: undefined, several: true }),
  cost: costColumns({ several: true }),
  verify: findingColumns,
};

/** Names behind the last comma of a list, without those that stand in it. */
const nextInList = (names: readonly string[], typed: string): readonly Candidate[] => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = new Set(list.split(","));
  return words(names.filter((name) => !taken.has(name)).map((name) => list + name));
};

/** What a placeholder says by itself: `<file>`, `<dir>`, or words to choose from, such as `<stop|skip>`. */
const byPlaceholder = (taker: Option | Argument): ValueKind => {
  const placeholder = taker instanceof Option ? (/[<[]([^\s.>\]]+)/.exec(taker.flags)?.[1] ?? "") : taker.name();
  if (placeholder === "file") return "files";
  if (placeholder === "dir" || placeholder === "folder") return "folders";
  return placeholder.includes("|") ? words(placeholder.split("|")) : undefined;
};
