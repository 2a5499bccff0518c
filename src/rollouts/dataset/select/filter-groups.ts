/** Finds the trajectories that match an expression, and searches groups for text. */
import { setImmediate } from "node:timers/promises";
import { isNativeError } from "node:util/types";
import { createContext, type RunningScriptOptions, Script } from "node:vm";
import { Failure } from "../../../failure.ts";
import { isObject, type JsonObject } from "../../../json/json-bytes.ts";
import { listSpellings } from "../../../json/raw-json.ts";
import { elementsOf, type JsonValue, memberAt, readRoot, textOf } from "../../../json/table.ts";
import { Breaks } from "../../../system/breaks.ts";
import { interrupted } from "../../../system/failures.ts";
import { repeatInterrupt } from "../../../system/host.ts";
import { countNames } from "../../facts/facts.ts";
import {
  fieldDefaults,
  listEvaluated,
  listSteps,
  openGroupFilter,
  openValueParser,
  parseFilter,
  readFinish,
  slowFilter,
} from "../../index/expression.ts";
import { toFileLine } from "../../rules/positions.ts";
import { stepHolders } from "../../rules/step-columns.ts";
import { listParts, listTrajectories, pickMembers, ReadWindow } from "../group-bytes.ts";
import { rewardsOf } from "../group-metrics.ts";
import { getPart, type IndexedGroups, listDerivedFinishes, locateGroup, type SelectedGroups } from "../locate.ts";

/** Regular expressions and nested loops need a time limit. */
const canBeSlow = /\bmatches\b|\b(all|exists|exists_one|map|filter)\b[\s\S]*\b(all|exists|exists_one|map|filter)\b/;

const maxEvaluationMs = 2000;

const sandbox: { run?: () => void } = createContext({});
const script = new Script("run()");

/** The first try does not use `breakOnSigint`, which costs 90 µs. */
const maxFirstEvaluationMs = 50;

/** Returns false if `run` takes longer than `timeout` ms. Can call `run` twice. Costs 70 µs. */
const runBounded = async (run: () => void, timeout: number, signal: AbortSignal) => {
  const runLimited = (options: RunningScriptOptions) => {
    // Each try sets `run`, because several searches of the view can run at once.
    sandbox.run = run;
    try {
      script.runInContext(sandbox, options);
      return "ended";
    } catch (thrown) {
      if (thrown instanceof Failure) throw thrown;
      return isNativeError(thrown) && "code" in thrown ? thrown.code : "failed";
    }
  };
  if (runLimited({ timeout: maxFirstEvaluationMs }) === "ended") return true;
  // Lets Node report a signal that was sent during the first try.
  await setImmediate();
  signal.throwIfAborted();
  const end = runLimited({ timeout, breakOnSigint: true });
  if (end === "ERR_SCRIPT_EXECUTION_INTERRUPTED") {
    repeatInterrupt();
    throw interrupted({ signal: "SIGINT" });
  }
  return end === "ended";
};

export interface FilterOptions {
  where: string;
  /** A trajectory is solved if its reward is at least this. Default: 1. */
  pass?: number | undefined;
  signal: AbortSignal;
}

/** Finds what an expression reads of a group, by the names in the expression. */
const findNeeds = (where: string) => {
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(where);
  const members = ["reward", ...Object.keys(fieldDefaults).filter(isNamed)];
  const finish = isNamed("truncated") || isNamed("finish_reason");
  const steps = listSteps(where);
  if (steps.length > 0) members.push(...steps, "metadata", ...stepHolders);
  if (isNamed("messages") || finish) members.push("messages_and_choices");
  if (finish) members.push("metadata");
  const [exceptions, whole] = [isNamed("exceptions"), isNamed("trajectory")];
  const facts = countNames.some(isNamed);
  const onlyRewards = members.length === 1 && !exceptions && !facts && !whole;
  return { members, finish, steps, exceptions, whole, facts, onlyRewards };
};

const openGroupReader = (dataset: IndexedGroups, where: string, breaks: Breaks) => {
  const needs = findNeeds(where);
  const { steps } = needs;
  const parseText = openValueParser(where);
  const parseExactly = (value: JsonValue) => parseText(textOf(value));
  const parse = (value: JsonValue) =>
    needs.whole ? toObject(parseExactly(value)) : pickMembers(value, needs.members, parseExactly);
  const window = new ReadWindow();
  return async (group: number) => {
    const known = needs.onlyRewards ? rewardsOf(dataset, group) : undefined;
    if (known?.length === dataset.groups.trajectoriesOf(group))
      return { trajectories: Array.from(known, (reward) => ({ reward })), exceptions: 0 };
    const measure = needs.facts ? (await import("../../check/measure.ts")).measureTrajectory : undefined;
    const trajectories: JsonObject[] = [];
    const facts: JsonObject[] = [];
    let exceptions = 0;
    let holder: JsonObject | undefined;
    for (const groupPart of listParts(dataset, group)) {
      const bytes = await window.readPart(groupPart);
      const derived = needs.finish ? listDerivedFinishes(groupPart) : [];
      for (const [at, value] of listTrajectories(bytes, groupPart.part).entries()) {
        if (breaks.isDue()) await breaks.take();
        const trajectory = parse(value);
        trajectories.push(trajectory);
        const finish = needs.finish ? readFinish(trajectory, derived[at] === true) : {};
        facts.push({ ...measure?.(value), ...finish });
      }
      if (groupPart.part.kind !== "group" || !(needs.exceptions || steps.length > 0)) continue;
      const root = readRoot(bytes);
      if (needs.exceptions && root) exceptions = elementsOf(memberAt(root, "exceptions")).length;
      if (root && steps.length > 0) holder = pickMembers(root, [...steps, ...stepHolders], parseExactly);
    }
    return { trajectories, facts, exceptions, holder };
  };
};

/** The returned function expects a valid group, also without trajectories. @throws Failure `invalid-filter` */
export const openFilter = (dataset: IndexedGroups, options: FilterOptions) => {
  const { where, pass, signal } = options;
  const isTrue = parseFilter(where);
  const breaks = new Breaks(signal);
  const readGroup = openGroupReader(dataset, where, breaks);
  return async (group: number) => {
    const members = await readGroup(group);
    const locate = () => toFileLine(locateGroup(dataset, group));
    const { trajectories } = members;
    const evaluated = listEvaluated(trajectories);
    const isWanted = openGroupFilter(isTrue, { group, ...members, pass, locate });
    const results: (boolean | "absent")[] = [];
    const evaluateAll = () => {
      for (const [at, trajectory] of evaluated.entries()) results[at] = isWanted(trajectory, at);
    };
    const limitMs = maxEvaluationMs + trajectories.length;
    if (!canBeSlow.test(where)) {
      for (const [at, trajectory] of evaluated.entries()) {
        if (breaks.isDue()) await breaks.take();
        results.push(isWanted(trajectory, at));
      }
    } else if (!(await runBounded(evaluateAll, limitMs, signal))) throw slowFilter(where, limitMs, locate());
    return {
      isMatch: results.includes(true),
      wanted: trajectories.flatMap((_, at) => (results[at] === true ? [at] : [])),
      absent: results.filter((result) => result === "absent").length,
    };
  };
};

const toObject = (value: unknown) => (isObject(value) ? value : {});

/** `text` is a case-sensitive substring. `where` is an expression that a trajectory must match. */
export type SearchQuery = Readonly<{ text?: string | undefined; where?: string | undefined }>;

interface SearchOptions extends Omit<FilterOptions, "where"> {
  /** Expects an index before the selection. A text search can report a group once per part. */
  onFound(group: number): void;
  /** @param share from 0 to 1 */
  onProgress(share: number): void;
}

/** Searching a trajectory costs as much as reading this many bytes. */
const bytesPerTrajectory = 2 ** 17;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups = async (
  dataset: SelectedGroups,
  { text = "", where }: SearchQuery,
  { signal, onFound, onProgress, pass }: SearchOptions,
) => {
  const { groups, unselected = dataset, originalOf } = dataset;
  const { parts } = dataset.scan;
  if (text === "" && where === undefined) return;
  const filterGroup = where === undefined ? undefined : openFilter(unselected, { where, pass, signal });
  const isWanted = async (at: number, original: number) => {
    if (filterGroup === undefined || !groups.isValid(at)) return filterGroup === undefined;
    const { isMatch, wanted } = await filterGroup(original);
    const selected = originalOf?.(at).selected;
    return selected ? selected.some((one) => wanted.includes(one)) : isMatch;
  };
  const hasText = openTextSearch(dataset, text);
  const breaks = new Breaks(signal);
  for (let at = 0; at < parts.count; at++) {
    if (breaks.isDue(bytesPerTrajectory * parts.columns.trajectories.at(at) + 2 * parts.columns.length.at(at))) {
      onProgress(at / parts.count);
      await breaks.take();
    }
    const group = groups.groupOf(at);
    // Any part can contain a substring, but an expression needs all parts of a group.
    const isCandidate = text === "" ? groups.firstOf(group) === at : await hasText(at);
    const original = originalOf?.(group).group ?? group;
    if (isCandidate && (await isWanted(group, original))) onFound(original);
  }
};

const openTextSearch = (dataset: IndexedGroups, text: string) => {
  const needles = listSpellings(text).map((spelled) => Buffer.from(spelled));
  const window = new ReadWindow();
  return async (at: number) => {
    const bytes = await window.readPart(getPart(dataset, at));
    return needles.some((needle) => bytes.includes(needle));
  };
};
