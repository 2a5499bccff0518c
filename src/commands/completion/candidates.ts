/** Finds candidates for values, without requests or credentials. */
import { callFields } from "../../calls/index.ts";
import { knownWords, lockRules } from "../../catalogs/index.ts";
import type { CompletionSource, OptionKind, ParsedArgv } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { reportFormats } from "../../output/index.ts";
import { readModelIds, readSavedTexts, settingNames, settingTable } from "../../settings/index.ts";
import { rowColumns } from "../catalog/catalog-columns.ts";
import { modelColumns } from "../models/model-columns.ts";

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
  const { completion } = kind;
  if (completion === "files") return "files";
  const source = completion && sources[completion];
  const found = kind.choices ?? (typeof source === "function" ? await source(request) : source);
  if (found) return found.map((one) => (typeof one === "string" ? { text: one, about: "" } : one));
  const placeholder = name.startsWith("--") ? kind.placeholder : /<(.*)>/.exec(name)?.[1];
  if (placeholder === "file") return "files";
  return placeholder === "dir" || placeholder === "folder" ? "folders" : [];
};

type CompletionValues = readonly (string | Candidate)[];
type Source = CompletionValues | ((request: ValueRequest) => CompletionValues | Promise<CompletionValues>);

const savedOr =
  (name: "split" | "batch" | "project", ...usual: readonly string[]): Source =>
  ({ context: { host } }) => [...new Set([...readSavedTexts(host, name), ...usual])];

const suggestNext = (names: readonly string[], { typed }: ValueRequest) => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = list.split(",");
  return names.filter((name) => !taken.includes(name)).map((name) => list + name);
};

const suggestColumns = (request: ValueRequest, sign = "") =>
  suggestNext(
    listColumnNames(request).map((name) => sign + name),
    request,
  );

const sources: Readonly<Record<Exclude<CompletionSource, "files">, Source>> = {
  batches: savedOr("batch"),
  "call-columns": callFields,
  columns: (request) => suggestColumns(request),
  "filter-words": (request) => suggestNext(knownWords(request.name), request),
  formats: async () => ["auto", "rollcall", ...(await import("../../formats/index.ts")).formatNames],
  "lock-rules": Object.keys(lockRules),
  models: ({ context }) => readModelIds(context.host),
  "price-names": (request) =>
    suggestNext(
      knownWords(request.name).map((word) => `${word}=`),
      request,
    ),
  profiles: ({ context }) => readSavedTexts(context.host, "profile"),
  projects: savedOr("project"),
  "report-forms": reportFormats,
  rules: async () => (await import("../../problems/index.ts")).warningRules,
  settings: settingNames.map((name) => ({ text: name, about: settingTable[name].about })),
  "sort-columns": (request) => suggestColumns(request, /(^|,)-[^,]*$/.test(request.typed) ? "-" : ""),
  splits: savedOr("split", "train", "val", "test"),
  topics: async () =>
    (await import("../explain/topics.ts")).topics.map(({ name, about = "" }) => ({ text: name, about })),
};

const listColumnNames = ({ command: { words }, given }: ValueRequest) => {
  const isPriced = given.has("with-prices");
  if (words === "models" && !isPriced) return modelColumns.map(({ name }) => name);
  if (words.startsWith("call ")) return callFields;
  if (words !== "models" && !/^catalog (all|analysis|router|show)$/.test(words)) return [];
  const isJoined = words === "catalog all" || words === "catalog show";
  return rowColumns(isPriced ? "priced" : isJoined ? "all" : "router").map(({ name }) => name);
};
