/** Addresses of the page: every view has one, which can be shared and gone back to. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { unescapedPercent } from "../../percent.ts";
import { type CallSelection, callSortKeys, callStatuses } from "../call-shapes.ts";
import { rangeIn } from "../range.ts";
import { type Selection, type SortKey, sortKeys } from "../shapes.ts";

/** What the page shows. */
export type Route =
  | { readonly view: "groups"; readonly selection: Selection }
  | { readonly view: "group"; readonly group: number }
  | { readonly view: "trajectory"; readonly group: number; readonly trajectory: number }
  | { readonly view: "problems"; readonly rule: string | undefined }
  | { readonly view: "calls"; readonly selection: CallSelection }
  | { readonly view: "call"; readonly id: string };

/** What an address behind `#` means; one that means nothing is the first page. */
const routeOf = (hash: string): Route => {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parameters = new URLSearchParams(query);
  const [noun, first, second] = path.split("/");
  const [group, trajectory] = [Number(first), Number(second)];
  if (noun === "problems") return { view: "problems", rule: parameters.get("rule") ?? undefined };
  if (noun === "calls") return { view: "calls", selection: callSelectionIn(parameters) };
  if (noun === "call" && first !== undefined) return { view: "call", id: unescapedPercent(first) };
  if (noun !== "group" || first === undefined || !Number.isSafeInteger(group)) {
    return { view: "groups", selection: selectionIn(parameters) };
  }
  if (second === undefined || !Number.isSafeInteger(trajectory)) return { view: "group", group: group - 1 };
  return { view: "trajectory", group: group - 1, trajectory: trajectory - 1 };
};

/** People count from 1. */
export const groupAddress = (group: number): string => `#/group/${group + 1}`;
export const trajectoryAddress = (group: number, trajectory: number): string =>
  `${groupAddress(group)}/${trajectory + 1}`;
export const problemsAddress = (rule?: string): string => `#/problems${queryOf(rule === undefined ? {} : { rule })}`;
export const groupsAddress = (selection: Selection): string => `#/${queryOf(parametersOf(selection))}`;

export const callsAddress = (selection: CallSelection): string => `#/calls${queryOf(callParametersOf(selection))}`;
export const callAddress = (id: string): string => `#/call/${encodeURIComponent(id)}`;

/** What asks the server for a selection of calls. */
export const callParametersOf = ({ sort, descending, status, text }: CallSelection) => ({
  ...(sort === "call" ? {} : { sort }),
  ...(descending ? { descending: "true" } : {}),
  ...(status === undefined ? {} : { status }),
  ...(text === undefined ? {} : { text }),
});

/** What asks the server for a selection. */
export const parametersOf = (selection: Selection): Readonly<Record<string, string>> => {
  const { sort, descending, reward, mean, spread, trainable, rule, file, text, where } = selection;
  return {
    ...(sort === "group" ? {} : { sort }),
    ...(descending ? { descending: "true" } : {}),
    ...(reward === undefined ? {} : { reward: reward.join() }),
    ...(mean === undefined ? {} : { mean: mean.join() }),
    ...(spread === undefined ? {} : { spread: spread.join() }),
    ...(trainable === undefined ? {} : { trainable: String(trainable) }),
    ...(rule === undefined ? {} : { rule }),
    ...(file === undefined ? {} : { file }),
    ...(text === undefined ? {} : { text }),
    ...(where === undefined ? {} : { where }),
  };
};

export const queryOf = (parameters: Readonly<Record<string, string>>): string => {
  const text = new URLSearchParams(parameters).toString();
  return text === "" ? "" : `?${text}`;
};

/** The selection that a query names. */
export const selectionIn = (parameters: URLSearchParams): Selection => {
  const sort: SortKey = sortKeys.find((key) => key === parameters.get("sort")) ?? "group";
  const selection: { -readonly [Key in keyof Selection]: Selection[Key] } = {
    sort,
    descending: parameters.get("descending") === "true",
  };
  for (const name of ["reward", "mean", "spread"] as const) {
    const range = rangeIn(parameters.get(name) ?? "");
    if (range !== undefined) selection[name] = range;
  }
  const [trainable, rule] = [parameters.get("trainable"), parameters.get("rule")];
  if (trainable !== null) selection.trainable = trainable === "true";
  if (rule !== null) selection.rule = rule;
  for (const name of ["file", "text", "where"] as const) {
    const value = parameters.get(name);
    if (value !== null && value !== "") selection[name] = value;
  }
  return selection;
};

/** All calls, in the order in which they were asked for. */
export const allCalls: CallSelection = { sort: "call", descending: false };

const callSelectionIn = (parameters: URLSearchParams): CallSelection => {
  const [status, text] = [parameters.get("status"), parameters.get("text") ?? ""];
  const known = [...callStatuses, "unread" as const].find((one) => one === status);
  return {
    sort: callSortKeys.find((key) => key === parameters.get("sort")) ?? "call",
    descending: parameters.get("descending") === "true",
    ...(known === undefined ? {} : { status: known }),
    ...(text === "" ? {} : { text }),
  };
};

/** How far a view is below the tables. */
const depthOf = ({ view }: Route): number => (view === "trajectory" ? 2 : view === "group" || view === "call" ? 1 : 0);

/** Whether this view was opened from one above it: going back leads there. */
export const isOpenedFromAbove = (): boolean => history.state === fromAbove;
const fromAbove = "from above";

/** Shows another address in the place of this one: what is above stays what it is. */
export const showInstead = (address: string): void => {
  history.replaceState(history.state, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
};

let table: string | undefined;

/** The address of the table that was shown last; else that of all there is. */
export const tableAddress = (): string => table ?? "#/";

/** The view that the address names, as it changes. */
export const useRoute = (): Route => {
  const [hash, setHash] = useState(location.hash);
  const shown = useRef(hash);
  useLayoutEffect(() => {
    const mark = () => history.state ?? history.replaceState("beside", "");
    const onChange = () => {
      const isBelow = depthOf(routeOf(location.hash)) > depthOf(routeOf(shown.current));
      if (isBelow && history.state === null) history.replaceState(fromAbove, "");
      mark();
      shown.current = location.hash;
      setHash(location.hash);
    };
    mark();
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  const route = routeOf(hash);
  if (route.view === "groups" || route.view === "calls") table = hash;
  return route;
};
