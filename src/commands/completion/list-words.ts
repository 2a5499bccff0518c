/** Lists the words of options that select, sort and filter lists. */

import { callFields } from "../../calls/call-facts.ts";
import { knownWords } from "../../catalogs/filter.ts";
import type { ParsedArgv } from "../../cli/argv.ts";
import { listOutputs, type Program } from "../../cli/command.ts";
import type { OptionKind } from "../../cli/kinds.ts";
import { keysOf } from "../../output/document-schemas.ts";
import { modelColumns } from "../../output/lists/model-columns.ts";
import type { Context } from "../../session/context.ts";
import { readSavedTexts } from "../../settings/layers.ts";
import { isSettingName, settings as settingTable } from "../../settings/values.ts";
import { rowColumns } from "../catalog/catalog-columns.ts";
import { measureColumns } from "../compare/measures.ts";
import { rowNames } from "../stats/each-row.ts";
import { sliceColumns } from "../stats/slice-columns.ts";

export type ValueRequest = Readonly<{
  context: Context;
  program: Program;
  /** The arguments before the cursor. */
  operands: readonly string[];
  command: ParsedArgv["command"];
  given: ParsedArgv["given"];
  /** An option or argument, such as `--sort` or `catalog show <id>`. */
  name: string;
  kind: OptionKind<unknown>;
  typed: string;
}>;

export const listSources = {
  "call-columns": () => callFields,
  columns: async (request: ValueRequest) => suggestNext(await listColumnNames(request), request),
  "sort-columns": async (request: ValueRequest) => {
    const sign = /(^|,)-[^,]*$/.test(request.typed) ? "-" : "";
    const names = (await listColumnNames(request)).map((name) => sign + name);
    return suggestNext(names, request);
  },
  "filter-words": (request: ValueRequest) => suggestNext(knownWords(request.name), request),
  "price-names": (request: ValueRequest) => {
    const names = knownWords(request.name).map((word) => `${word}=`);
    return suggestNext(names, request);
  },
  /** The next word of the names of documents, such as `router` after `catalog`. */
  schemas: async ({ program, operands }: ValueRequest) => {
    const names = (await listOutputs(program)).map(({ name }) => name.split(" "));
    const fits = (words: readonly string[]) => operands.every((word, at) => word === words[at]);
    return [...new Set(names.filter(fits).flatMap((words) => words[operands.length] ?? []))];
  },
  "setting-values": ({ context: { host }, operands: [name = ""] }: ValueRequest) =>
    isSettingName(name) ? [...new Set([...(settingTable[name].choices ?? []), ...readSavedTexts(host, name)])] : [],
};

const suggestNext = (names: readonly string[], { typed }: ValueRequest) => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = list.split(",");
  return names.filter((name) => !taken.includes(name)).map((name) => list + name);
};

const listColumnNames = async ({ command: { words }, given, name: option, program }: ValueRequest) => {
  const isPriced = given.has("with-prices");
  if (words === "models" && !isPriced) return modelColumns.map(({ name }) => name);
  if (words.startsWith("call ")) return callFields;
  if (words === "compare") return measureColumns.map(({ name }) => name);
  const by = given.get("by")?.at(-1);
  const isOfRows = given.has("each") || (option === "--sort" && by === undefined);
  if (words === "stats" && isOfRows) return rowNames(given.get("each")?.at(-1));
  if (words === "stats") return sliceColumns(by, { solved: null }).map(({ name }) => name);
  if (words !== "models" && !/^catalog (all|analysis|router|show)$/.test(words)) {
    const output = (await listOutputs(program)).find(({ name }) => name === words);
    return output ? keysOf(output.line ?? output.schema) : [];
  }
  const isJoined = words === "catalog all" || words === "catalog show";
  return rowColumns(isPriced ? "priced" : isJoined ? "all" : "router").map(({ name }) => name);
};
