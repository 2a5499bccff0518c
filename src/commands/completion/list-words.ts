/** Lists the words of options that select, sort and filter lists. */

import { callFields } from "../../calls/index.ts";
import { knownWords } from "../../catalogs/index.ts";
import type { OptionKind, ParsedArgv } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { rowColumns } from "../catalog/catalog-columns.ts";
import { measureColumns } from "../compare/measures.ts";
import { modelColumns } from "../models/model-columns.ts";
import { rowNames } from "../stats/each-row.ts";
import { sliceColumns } from "../stats/slice-columns.ts";

export type ValueRequest = Readonly<{
  context: Context;
  command: ParsedArgv["command"];
  given: ParsedArgv["given"];
  /** An option or argument, such as `--sort` or `catalog show <id>`. */
  name: string;
  kind: OptionKind<unknown>;
  typed: string;
}>;

export const callColumns = () => callFields;
export const columns = (request: ValueRequest) => suggestNext(listColumnNames(request), request);
export const sortColumns = (request: ValueRequest) => {
  const sign = /(^|,)-[^,]*$/.test(request.typed) ? "-" : "";
  const names = listColumnNames(request).map((name) => sign + name);
  return suggestNext(names, request);
};
export const filterWords = (request: ValueRequest) => suggestNext(knownWords(request.name), request);
export const priceNames = (request: ValueRequest) => {
  const names = knownWords(request.name).map((word) => `${word}=`);
  return suggestNext(names, request);
};

const suggestNext = (names: readonly string[], { typed }: ValueRequest) => {
  const list = typed.slice(0, typed.lastIndexOf(",") + 1);
  const taken = list.split(",");
  return names.filter((name) => !taken.includes(name)).map((name) => list + name);
};

const listColumnNames = ({ command: { words }, given, name: option }: ValueRequest) => {
  const isPriced = given.has("with-prices");
  if (words === "models" && !isPriced) return modelColumns.map(({ name }) => name);
  if (words.startsWith("call ")) return callFields;
  if (words === "compare") return measureColumns.map(({ name }) => name);
  const by = given.get("by")?.at(-1);
  const isOfRows = given.has("each") || (option === "--sort" && by === undefined);
  if (words === "stats" && isOfRows) return rowNames(given.get("each")?.at(-1));
  if (words === "stats") return sliceColumns(by, { solved: null }).map(({ name }) => name);
  if (words !== "models" && !/^catalog (all|analysis|router|show)$/.test(words)) return [];
  const isJoined = words === "catalog all" || words === "catalog show";
  return rowColumns(isPriced ? "priced" : isJoined ? "all" : "router").map(({ name }) => name);
};
