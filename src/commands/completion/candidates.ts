/** Finds candidates for values, without requests or credentials. */
import type { CompletionSource } from "../../cli/kinds.ts";
import { reportForms } from "../../output/ci-report.ts";
import { readSavedTexts } from "../../settings/layers.ts";
import { readIds } from "../../settings/saved-files.ts";
import { settingNames, settings as settingTable } from "../../settings/values.ts";
import type { ValueRequest } from "./list-words.ts";

export type Candidate = Readonly<Record<"text" | "about", string>>;
export type Candidates = readonly Candidate[] | "files" | "folders";

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

/** Loads the catalogs and columns only to complete their words. */
const listWords =
  (suggest: keyof typeof import("./list-words.ts")): Source =>
  async (request) =>
    (await import("./list-words.ts"))[suggest](request);

const sources: Readonly<Record<Exclude<CompletionSource, "files">, Source>> = {
  batches: savedOr("batch"),
  "catalog-models": ({ context: { host } }) => [...new Set([...readIds(host, "analysis"), ...readIds(host, "router")])],
  "call-columns": listWords("callColumns"),
  columns: listWords("columns"),
  "filter-words": listWords("filterWords"),
  formats: async () => ["auto", "rollcall", ...(await import("../../rollouts/formats/recognize.ts")).formatNames],
  models: ({ context }) => readIds(context.host, "models"),
  "price-names": listWords("priceNames"),
  profiles: ({ context }) => readSavedTexts(context.host, "profile"),
  projects: savedOr("project"),
  "report-forms": reportForms,
  rules: async () => (await import("../../rollouts/rules/rules.ts")).warningRules,
  schemas: listWords("schemas"),
  "setting-values": listWords("settingValues"),
  settings: settingNames.map((name) => ({ text: name, about: settingTable[name].about })),
  "sort-columns": listWords("sortColumns"),
  splits: savedOr("split", "train", "val", "test"),
  topics: async () =>
    (await import("../explain/topics.ts")).topics.map(({ name, about = "" }) => ({ text: name, about })),
};
