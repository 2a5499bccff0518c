/** Selections as the query of an address spells them: the page writes them, and both sides read them. */
import { type CallSelection, callSortKeys, callStatuses } from "./call-shapes.ts";
import { rangeIn } from "./range.ts";
import { type Selection, sortKeys } from "./shapes.ts";

/** What spells a selection; what goes without saying is left out. */
export const parametersOf = ({ sort, descending, ...chosen }: Selection | CallSelection) => {
  const isUsual = sort === "group" || sort === "call";
  const said = { sort: isUsual ? undefined : sort, descending: descending || undefined, ...chosen };
  return Object.fromEntries(
    Object.entries(said).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
};

/** What stands there under a name; undefined for nothing. */
const said = (query: URLSearchParams, name: string): string | undefined => query.get(name) || undefined;

/** Which groups a query selects; undefined where it says what there is not. */
export const selectionIn = (query: URLSearchParams): Selection | undefined => {
  const sort = sortKeys.find((key) => key === (said(query, "sort") ?? "group"));
  const rangeOf = (name: "reward" | "mean" | "spread") => rangeIn(said(query, name) ?? "");
  const isWrong = (["reward", "mean", "spread"] as const).some((name) => said(query, name) && !rangeOf(name));
  const trainable = said(query, "trainable");
  if (sort === undefined || isWrong) return undefined;
  return {
    sort,
    descending: said(query, "descending") === "true",
    reward: rangeOf("reward"),
    mean: rangeOf("mean"),
    spread: rangeOf("spread"),
    trainable: trainable === undefined ? undefined : trainable === "true",
    rule: said(query, "rule"),
    file: said(query, "file"),
    text: said(query, "text"),
    where: said(query, "where"),
  };
};

/** Which calls a query selects; undefined where it says what there is not. */
export const callSelectionIn = (query: URLSearchParams): CallSelection | undefined => {
  const sort = callSortKeys.find((key) => key === (said(query, "sort") ?? "call"));
  const status = callStatuses.find((one) => one === said(query, "status"));
  if (sort === undefined || (said(query, "status") !== undefined && status === undefined)) return undefined;
  return { sort, descending: said(query, "descending") === "true", status, text: said(query, "text") };
};

/** Whether a number is one that counts from 0. */
export const isPosition = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
