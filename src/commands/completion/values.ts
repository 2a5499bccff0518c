/** The values of options and arguments: known without a network, a credential or a program. */
import { idsOfCopies, lockRuleNames, modelFields, usualWords } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import { callFields, reportForms } from "../../output/index.ts";
import { dataFolder, profileNames, savedTexts, settingNames as settings, settingTable } from "../../settings/index.ts";
import { namedAsInJson, rowColumns } from "../catalog/columns.ts";
import type { Asked, Candidate, ValueKind } from "./candidates.ts";

/** Splits that people use; a setting may name others. */
const usualSplits = ["train", "val", "test"];

type Source = (asked: Asked & { readonly context: Context }) => ValueKind | Promise<ValueKind>;

/** Finds the values that are known in this run. */
export const valuesIn =
  (context: Context) =>
  (asked: Asked): ValueKind | Promise<ValueKind> => {
    const { name, kind } = asked;
    if (kind.choices !== undefined) return words(kind.choices);
    const source = sources[name];
    if (source !== undefined) return source({ ...asked, context });
    const placeholder = name.startsWith("--") ? kind.value : /<(.*)>/.exec(name)?.[1];
    if (placeholder === "file") return "files";
    return placeholder === "dir" || placeholder === "folder" ? "folders" : undefined;
  };

const words = (texts: readonly string[]): readonly Candidate[] => texts.map((text) => ({ text, about: "" }));

const saved =
  (name: "split" | "batch" | "project", usual: readonly string[] = []): Source =>
  ({ context }) => {
    const own = context.host.env[`ROLLCALL_${name.toUpperCase()}`];
    return words([...new Set([...(own === undefined ? [] : [own]), ...savedTexts(context.host, name), ...usual])]);
  };

const settingNames: Source = () => settings.map((name) => ({ text: name, about: settingTable[name].about }));

/** Words of a filter that the field knows, and what follows each. */
const filterWords =
  (field: string, behind = ""): Source =>
  ({ typed }) =>
    nextInList(
      usualWords(field).map((word) => word + behind),
      typed,
    );

/** The next word of a name that words before begin. */
const outputWords: Source = async ({ taken }) => {
  const { outputs } = await import("../schema/outputs.ts");
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
  "--sort": async (about) => {
    const { typed } = about;
    const sign = typed.slice(typed.lastIndexOf(",") + 1).startsWith("-") ? "-" : "";
    return nextInList(
      (await columnsOf(about)).map((name) => sign + name),
      typed,
    );
  },
  "--input-modality": filterWords("inputModality"),
  "--output-modality": filterWords("outputModality"),
  "--feature": filterWords("feature"),
  "--parameter": filterWords("parameter"),
  "--quantization": filterWords("quantization"),
  "--country": filterWords("country"),
  "--only-country": filterWords("onlyCountry"),
  "--max-price": filterWords("maxPrice", "="),
  "--deprecated-within": () => words(["7d", "30d", "90d"]),
  "--created-since": () => words(["30d", "90d", "365d"]),
  "--fields": async (about) => nextInList(await columnsOf(about), about.typed),
  "--allow": async ({ command }) =>
    words(command.words.startsWith("catalog ") ? lockRuleNames : (await import("../../check/index.ts")).warningRules),
  "--max-age": () => words(["10m", "1h", "1d"]),
  "--since": () => words(["1d", "7d", "30d"]),
  "--max-rise": () => words(["0%", "5%", "10%"]),
  "--within": () => words(["30d", "60d", "90d"]),
  "--path": () => words(callFields),
  "--reward-from": () => words(["attributes.reward", "output.score", "summary"]),
  "--report": () => words(reportForms),
  "explain <name>": async () =>
    (await import("../explain/topics.ts")).topics.map(({ name, about }) => ({ text: name, about })),
  "catalog show <id>": readBefore,
  "schema <command>": outputWords,
  "config get <name>": settingNames,
  "config set <name>": settingNames,
  "config unset <name>": settingNames,
  "--store": () => "files",
  "profile use <name>": savedProfiles,
  "profile delete <name>": savedProfiles,
  "profile rename <from>": savedProfiles,
};

/** Names of the columns or fields that a command prints. */
const columnsOf = async ({ command: { words }, name, given }: Asked): Promise<readonly string[]> => {
  if (words === "models" && !given.has("with-prices")) return modelFields.map(({ name }) => name);
  if (["models", "catalog all", "catalog show"].includes(words)) {
    // An order is one of columns, whatever is printed.
    const asJson = given.has("json") && name === "--fields";
    const columns = rowColumns({ of: words === "models" ? "models" : "all" });
    return (asJson ? namedAsInJson(columns) : columns).map(({ name }) => name);
  }
  if (words.startsWith("catalog ")) return (await ownColumns[words]?.()) ?? rowColumns().map(({ name }) => name);
  return words.startsWith("call ") ? callFields : [];
};

/** The columns of the verbs of `catalog` that do not print those of a catalog. */
const ownColumns: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  "catalog diff": async () => (await import("../catalog/compare.ts")).changeColumnNames,
  "catalog cost": async () => (await import("../catalog/cost.ts")).costColumnNames,
  "catalog verify": async () => (await import("../catalog/compare.ts")).findingColumnNames,
};

/** Names behind the last comma of a list, without those that stand in it. */
const nextInList = (names: readonly string[], typed: string): readonly Candidate[] => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = new Set(list.split(","));
  return words(names.filter((name) => !taken.has(name)).map((name) => list + name));
};
