/** Finds candidates for values, without requests or credentials. */
import { callFields } from "../../calls/index.ts";
import { knownWords, lockRules, modelFields } from "../../catalogs/index.ts";
import type { OptionKind, ParsedArgv } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { reportFormats } from "../../output/index.ts";
import { readModelIds, readSavedTexts, settingNames, settingTable } from "../../settings/index.ts";
import { rowColumns } from "../catalog/columns.ts";

export type Candidate = Readonly<Record<"text" | "about", string>>;
export type Candidates = readonly Candidate[] | "files" | "folders";

type ValueRequest = Readonly<{
  context: Context;
  command: ParsedArgv["command"];
  given: ParsedArgv["given"];
  /** An option or argument, such as `--sort` or `catalog show <id>`. */
  name: string;
  kind: OptionKind<unknown>;
  typed: string;
}>;

export const suggestValues = async (request: ValueRequest): Promise<Candidates> => {
  const { name, kind } = request;
  const usual = knownWords(name).map((word) => (name === "--max-price" ? `${word}=` : word));
  const source = usual.length > 0 ? suggestNext(usual, request) : sources[name];
  const found = kind.choices ?? (typeof source === "function" ? await source(request) : source);
  if (found) return found.map((one) => (typeof one === "string" ? { text: one, about: "" } : one));
  const placeholder = name.startsWith("--") ? kind.placeholder : /<(.*)>/.exec(name)?.[1];
  if (placeholder === "file" || name === "--store") return "files";
  return placeholder === "dir" || placeholder === "folder" ? "folders" : [];
};

type CompletionValues = readonly (string | Candidate)[];
type CompletionSource = CompletionValues | ((request: ValueRequest) => CompletionValues | Promise<CompletionValues>);

const savedOr =
  (name: "split" | "batch" | "project", ...usual: readonly string[]): CompletionSource =>
  ({ context: { host } }) => [...new Set([...readSavedTexts(host, name), ...usual])];

const suggestNext = (names: readonly string[], { typed }: ValueRequest) => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = list.split(",");
  return names.filter((name) => !taken.includes(name)).map((name) => list + name);
};

const settingSuggestions = settingNames.map((name) => ({ text: name, about: settingTable[name].about }));
const savedProfiles: CompletionSource = ({ context }) => readSavedTexts(context.host, "profile");

const listedModels: CompletionSource = ({ context }) => readModelIds(context.host);

const sources: Readonly<Record<string, CompletionSource>> = {
  "--profile": savedProfiles,
  "--split": savedOr("split", "train", "val", "test"),
  "--batch": savedOr("batch"),
  "--project": savedOr("project"),
  "--sort": (request) => {
    const sign = /(^|,)-[^,]*$/.test(request.typed) ? "-" : "";
    const names = listColumnNames(request).map((name) => sign + name);
    return suggestNext(names, request);
  },
  "--fields": (request) => suggestNext(listColumnNames(request), request),
  "--allow": async ({ command }) =>
    command.words.startsWith("catalog ")
      ? Object.keys(lockRules)
      : (await import("../../problems/index.ts")).warningRules,
  "--from": async () => ["auto", "rollcall", ...(await import("../../formats/index.ts")).formatNames],
  "--path": callFields,
  "--report": reportFormats,
  "explain <name>": async () =>
    (await import("../explain/topics.ts")).topics.map(({ name, about = "" }) => ({ text: name, about })),
  "log <model-id>": listedModels,
  "models <pattern>": listedModels,
  "config get <name>": settingSuggestions,
  "config set <name>": settingSuggestions,
  "config unset <name>": settingSuggestions,
  "profile use <name>": savedProfiles,
  "profile delete <name>": savedProfiles,
  "profile rename <from>": savedProfiles,
};

const listColumnNames = ({ command: { words }, given }: ValueRequest) => {
  const isPriced = given.has("with-prices");
  if (words === "models" && !isPriced) return modelFields.map(({ name }) => name);
  if (words.startsWith("call ")) return callFields;
  if (words !== "models" && !/^catalog (all|analysis|router|show)$/.test(words)) return [];
  const isJoined = words === "catalog all" || words === "catalog show";
  return rowColumns(isPriced ? "priced" : isJoined ? "all" : "router").map(({ name }) => name);
};
