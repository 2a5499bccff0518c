/** Addresses of the page: every view has one, which can be shared and gone back to. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { unescapedPercent } from "../../percent.ts";
import type { CallSelection } from "../call-shapes.ts";
import { callSelectionIn, parametersOf, selectionIn } from "../query.ts";
import type { Selection } from "../shapes.ts";

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
  if (noun === "calls") return { view: "calls", selection: callSelectionIn(parameters) ?? allCalls };
  if (noun === "call" && first !== undefined) return { view: "call", id: unescapedPercent(first) };
  if (noun !== "group" || first === undefined || !Number.isSafeInteger(group)) {
    return { view: "groups", selection: selectionIn(parameters) ?? allGroups };
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

export const callsAddress = (selection: CallSelection): string => `#/calls${queryOf(parametersOf(selection))}`;
export const callAddress = (id: string): string => `#/call/${encodeURIComponent(id)}`;

export const queryOf = (parameters: Readonly<Record<string, string>>): string => {
  const text = new URLSearchParams(parameters).toString();
  return text === "" ? "" : `?${text}`;
};

/** All groups, and all calls, in the order in which they were asked for. */
export const allGroups: Selection = { sort: "group", descending: false };
export const allCalls: CallSelection = { sort: "call", descending: false };

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
