/** Selects groups and trajectories, and searches groups. */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { isNativeError } from "node:util/types";
import { createContext, type RunningScriptOptions, Script } from "node:vm";
import { Failure } from "../../failure.ts";
import { interrupted } from "../../failures.ts";
import { repeatInterrupt } from "../../host.ts";
import { fieldDefaults, filterTrajectories, listRewards, parseFilter, withFinish } from "../../index/expression.ts";
import { slowFilter } from "../../index/failures.ts";
import { isObject, type JsonObject } from "../../json/json-bytes.ts";
import { listSpellings } from "../../json/raw-json.ts";
import { elementsOf, type JsonValue, memberAt, parseValue, readRoot } from "../../json/table.ts";
import { inputChanged } from "../../problems/failures.ts";
import { toFileLine } from "../../problems/positions.ts";
import { listParts, listTrajectories, pickMembers, ReadWindow } from "../group-bytes.ts";
import { getPart, type IndexedGroups, locateGroup } from "../locate.ts";
import type { Dataset, FilteredOut } from "../read-dataset.ts";

export interface Selection {
  /** A CEL expression that a trajectory must match. */
  where?: string | undefined;
  /** The maximum number of trajectories per group, chosen by highest reward. */
  best?: number | undefined;
  sample?: number | undefined;
  seed: string;
  /** `part` counts from 1. The digest of a group decides its shard. */
  shard?: { part: number; of: number } | undefined;
}

export type SelectedGroups = Awaited<ReturnType<typeof selectGroups>>;

/** `readUIntBE` reads at most 6 bytes. */
const shardHashBytes = 6;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const selectGroups = async (dataset: Dataset, selection: Selection, signal: AbortSignal) => {
  const { groups } = dataset;
  const { where, best, shard } = selection;
  const options = (["where", "best", "sample", "shard"] as const).filter((option) => selection[option] !== undefined);
  const filteredOut = Object.fromEntries(options.map((option) => [option, { trajectories: 0, groups: 0 }]));
  const countOut = (by: keyof FilteredOut, trajectories: number, wholeGroups: number) => {
    const counts = filteredOut[by];
    if (!counts) return;
    counts.trajectories += trajectories;
    counts.groups += wholeGroups;
  };
  const sampled = drawSample(dataset, selection);
  const isOfShard = (group: number) =>
    shard === undefined ||
    Buffer.from(groups.digestOf(group)).readUIntBE(0, shardHashBytes) % shard.of === shard.part - 1;
  const filterGroup = where === undefined && best === undefined ? undefined : openFilter(dataset, { where, signal });
  const kept: number[] = [];
  /** For each group that loses trajectories, the indexes of its selected trajectories. */
  const subsets = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    const count = groups.trajectoriesOf(group);
    const isSampled = sampled?.has(group) !== false;
    if (!groups.isValid(group)) kept.push(group);
    else if (!isSampled || !isOfShard(group)) countOut(isSampled ? "shard" : "sample", count, 1);
    else if (!filterGroup) kept.push(group);
    else {
      const { rewards, wanted } = await filterGroup(group);
      countOut("where", count - wanted.length, wanted.length === 0 && count > 0 ? 1 : 0);
      const byReward = wanted.toSorted((a, b) => (rewards[b] ?? 0) - (rewards[a] ?? 0) || a - b);
      const positions = byReward.slice(0, best).sort((a, b) => a - b);
      countOut("best", wanted.length - positions.length, 0);
      if (positions.length > 0 || count === 0) kept.push(group);
      if (positions.length > 0 && positions.length < count) subsets.set(group, positions);
    }
  }
  return { kept, subsets, filteredOut };
};

/** Sorts groups by hashes of seed and digest, so that the order of the input does not matter. */
const drawSample = ({ groups }: Dataset, { sample, seed }: Selection) => {
  if (sample === undefined) return undefined;
  const ranked: { group: number; rank: string }[] = [];
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    const rank = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest("hex");
    ranked.push({ group, rank });
  }
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : a.group - b.group));
  return new Set(ranked.slice(0, sample).map(({ group }) => group));
};

/** `text` is a case-sensitive substring. `where` is a CEL expression that a trajectory of the group must match. */
export type SearchQuery = Readonly<{ text?: string | undefined; where?: string | undefined }>;

interface SearchOptions {
  signal: AbortSignal;
  /** Called in the order of the parts. A text search can report a group once per part. */
  onFound(group: number): void;
  /** @param share from 0 to 1 */
  onProgress(share: number): void;
  /** Returns all rewards of a group, so that expressions over rewards read no file. */
  rewardsOf?: ((group: number) => readonly number[] | undefined) | undefined;
}

const maxTrajectoriesAtOnce = 100;
const maxBytesAtOnce = 2 ** 22;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups = async (
  dataset: IndexedGroups,
  { text = "", where }: SearchQuery,
  { signal, onFound, onProgress, rewardsOf }: SearchOptions,
) => {
  const { groups } = dataset;
  const { parts } = dataset.scan;
  if (text === "" && where === undefined) return;
  const filterGroup = where === undefined ? undefined : openFilter(dataset, { where, signal, rewardsOf });
  const isWanted = async (group: number) =>
    filterGroup === undefined || (groups.isValid(group) && (await filterGroup(group)).wanted.length > 0);
  const hasText = openTextSearch(dataset, text);
  for (let at = 0, trajectories = 0, bytes = 0; at < parts.count; at++) {
    trajectories += parts.columns.trajectories.at(at);
    bytes += parts.columns.length.at(at);
    if (trajectories >= maxTrajectoriesAtOnce || bytes >= maxBytesAtOnce) {
      trajectories = 0;
      bytes = 0;
      onProgress(at / parts.count);
      await setImmediate();
      signal.throwIfAborted();
    }
    const group = groups.groupOf(at);
    // Any part can contain a substring, but an expression needs all parts of a group.
    const isCandidate = text === "" ? groups.firstOf(group) === at : await hasText(at);
    if (isCandidate && (await isWanted(group))) onFound(group);
  }
};

const openTextSearch = (dataset: IndexedGroups, text: string) => {
  const needles = listSpellings(text).map((spelled) => Buffer.from(spelled));
  const window = new ReadWindow();
  return async (at: number) => {
    const { source, part } = getPart(dataset, at);
    const bytes = await window.read(source, part.start, part.length);
    if (bytes.length < part.length) throw inputChanged(source.name);
    return needles.some((needle) => bytes.includes(needle));
  };
};

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

/** The returned function expects a valid group. @throws Failure `invalid-filter` */
const openFilter = (
  dataset: IndexedGroups,
  { where = "true", signal, rewardsOf }: SearchQuery & Pick<SearchOptions, "signal" | "rewardsOf">,
) => {
  const isTrue = parseFilter(where);
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(where);
  const members = ["reward", ...Object.keys(fieldDefaults).filter(isNamed)];
  const needsFinish = isNamed("truncated") || isNamed("finish_reason");
  if (isNamed("messages") || needsFinish) members.push("messages_and_choices");
  const needsExceptions = isNamed("exceptions");
  const parse = isNamed("trajectory") ? parseObject : (value: JsonValue) => pickMembers(value, members);
  const toObject = needsFinish ? (value: JsonValue) => withFinish(parse(value)) : parse;
  const window = new ReadWindow();
  const isAboutRewards = members.length === 1 && !needsExceptions && !isNamed("trajectory");
  const readGroup = async (group: number) => {
    const known = isAboutRewards ? rewardsOf?.(group) : undefined;
    if (known) return { trajectories: known.map((reward) => ({ reward })), exceptions: 0 };
    const trajectories: JsonObject[] = [];
    let exceptions = 0;
    for (const groupPart of listParts(dataset, group)) {
      const bytes = await window.readPart(groupPart);
      for (const trajectory of listTrajectories(bytes, groupPart.part)) trajectories.push(toObject(trajectory));
      if (needsExceptions && groupPart.part.kind === "group")
        exceptions = elementsOf(memberAt(readRoot(bytes), "exceptions")).length;
    }
    return { trajectories, exceptions };
  };
  return async (group: number) => {
    const members = await readGroup(group);
    const { trajectories } = members;
    const locate = () => toFileLine(locateGroup(dataset, group));
    let wanted: readonly number[] = [];
    const evaluate = () => {
      wanted = filterTrajectories(isTrue, { group, ...members, locate });
    };
    const limitMs = maxEvaluationMs + trajectories.length;
    if (!canBeSlow.test(where)) evaluate();
    else if (!(await runBounded(evaluate, limitMs, signal))) throw slowFilter(where, limitMs, locate());
    return { rewards: listRewards(trajectories), wanted };
  };
};

const parseObject = (value: JsonValue) => {
  const object = parseValue(value);
  return isObject(object) ? object : {};
};
