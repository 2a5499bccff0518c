/** Lists the words of options and arguments. Loads the columns only to complete their names. */

import { type Command, listOutputs, type Program } from "../../cli/command.ts";
import type { CompletionSource, OptionKind } from "../../cli/kinds.ts";
import type { Context } from "../../session/context.ts";
import { readSavedTexts } from "../../settings/layers.ts";
import { readIds } from "../../settings/saved-files.ts";
import { isSettingName, settingNames, settings as settingTable } from "../../settings/values.ts";

export type ValueRequest = Readonly<{
  context: Context;
  program: Program;
  /** The arguments before the cursor. */
  operands: readonly string[];
  command: Command;
  /** The values of the options on the command line. */
  options: Readonly<Record<string, unknown>>;
  /** An option or argument, such as `--sort`. */
  name: string;
  kind: OptionKind<unknown>;
  typed: string;
}>;

export type Candidate = Readonly<Record<"text" | "about", string>>;
type CompletionValues = readonly (string | Candidate)[];
type Source = CompletionValues | ((request: ValueRequest) => CompletionValues | Promise<CompletionValues>);

const savedOr =
  (name: "split" | "batch" | "project", ...usual: readonly string[]): Source =>
  ({ context: { host } }) => [...new Set([...readSavedTexts(host, name), ...usual])];

export const sources: Readonly<Record<CompletionSource, Source>> = {
  batches: savedOr("batch"),
  columns: async (request) => suggestNext(await listColumnNames(request), request),
  formats: async () => ["auto", "rollcall", ...(await import("../../rollouts/formats/recognize.ts")).formatNames],
  models: ({ context }) => readIds(context.host, "models"),
  profiles: ({ context }) => readSavedTexts(context.host, "profile"),
  projects: savedOr("project"),
  rules: async () => (await import("../../rollouts/rules/rules.ts")).warningRules,
  /** The next word of the names of documents, such as `router` after `catalog`. */
  schemas: async ({ program, operands }) => {
    const names = (await listOutputs(program)).map(({ name }) => name.split(" "));
    const fits = (words: readonly string[]) => operands.every((word, at) => word === words[at]);
    return [...new Set(names.filter(fits).flatMap((words) => words[operands.length] ?? []))];
  },
  "setting-values": ({ context: { host }, operands: [name = ""] }) =>
    isSettingName(name) ? [...new Set([...(settingTable[name].choices ?? []), ...readSavedTexts(host, name)])] : [],
  settings: settingNames.map((name) => ({ text: name, about: settingTable[name].about })),
  "sort-columns": async (request) => {
    const sign = /(^|,)-[^,]*$/.test(request.typed) ? "-" : "";
    const names = (await listColumnNames(request)).map((name) => sign + name);
    return suggestNext(names, request);
  },
  splits: savedOr("split", "train", "val", "test"),
};

const suggestNext = (names: readonly string[], { typed }: ValueRequest) => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = list.split(",");
  return names.filter((name) => !taken.includes(name)).map((name) => list + name);
};

const listColumnNames = async ({ command: { words, loadColumns }, options, program }: ValueRequest) => {
  if (loadColumns) return (await loadColumns(options)).map(({ name }) => name);
  const output = (await listOutputs(program)).find(({ name }) => name === words);
  if (!output) return [];
  const { readKeys } = await import("../../output/document-schemas.ts");
  return readKeys(output.line ?? output.schema).names;
};
