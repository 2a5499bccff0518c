/** Selects groups and trajectories by CEL, reward, sample or shard, and searches groups. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { createContext, Script } from "node:vm";
import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import { formatLine } from "../../check/rules/positions.ts";
import { Failure } from "../../failure.ts";
import { inputChanged } from "../../input/index.ts";
import { listSpellings } from "../../json/spellings.ts";
import { elementsOf, memberAt, readRoot } from "../../json/table.ts";
import { getMember, isObject, type JsonObject } from "../../json/walk.ts";
import { invalidFilter } from "../failures.ts";
import { findPart, listParts, listTrajectories, pickMembers, ReadWindow } from "../group-bytes.ts";
import { computeMoments } from "../metrics/sums.ts";
import { type IndexedGroups, locateGroup } from "../positions.ts";
import type { Dataset, FilteredOut } from "../read-dataset.ts";

/** Filters; everything by default. */
export interface Selection {
  /** CEL expression over a trajectory. */
  readonly where?: string | undefined;
  /** Trajectories per group with the highest rewards. */
  readonly best?: number | undefined;
  /** Number of random groups, by seed. */
  readonly sample?: number | undefined;
  readonly seed: string;
  /** Shard of a group, from 1, by its digest. */
  readonly shard?: { readonly part: number; readonly of: number } | undefined;
}

/** The selected groups and trajectories. */
export interface SelectedGroups {
  /** Includes invalid groups, which stay invalid. */
  readonly kept: readonly number[];
  /** The positions of the selected trajectories, for each group of which some are filtered out. */
  readonly partial: ReadonlyMap<number, readonly number[]>;
  /** Counts by option. */
  readonly filteredOut: FilteredOut;
}

/** Bytes of a digest that decide its shard. More bytes would exceed the integers of a double. */
const shardHashBytes = 6;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const selectGroups = async (
  dataset: Dataset,
  selection: Selection,
  signal: AbortSignal,
): Promise<SelectedGroups> => {
  const { groups } = dataset;
  const { where, best, shard } = selection;
  const options = (["where", "best", "sample", "shard"] as const).filter((option) => selection[option] !== undefined);
  const filteredOut: { readonly [Option in keyof FilteredOut]: { trajectories: number; groups: number } } =
    Object.fromEntries(options.map((option) => [option, { trajectories: 0, groups: 0 }]));
  const countOut = (by: keyof FilteredOut, trajectories: number, whole: number): void => {
    const left = filteredOut[by];
    if (left === undefined) return;
    left.trajectories += trajectories;
    left.groups += whole;
  };
  const sampled = drawSample(dataset, selection);
  const isOfShard = (group: number): boolean =>
    shard === undefined ||
    Buffer.from(groups.digestOf(group)).readUIntBE(0, shardHashBytes) % shard.of === shard.part - 1;
  const filterGroup = where === undefined && best === undefined ? undefined : openFilter(dataset, where);
  const kept: number[] = [];
  const partial = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    const count = groups.trajectoriesOf(group);
    const isSampled = sampled?.has(group) !== false;
    if (!groups.isValid(group)) kept.push(group);
    else if (!isSampled || !isOfShard(group)) countOut(isSampled ? "shard" : "sample", count, 1);
    else if (filterGroup === undefined) kept.push(group);
    else {
      const { trajectories, wanted } = await filterGroup(group);
      countOut("where", count - wanted.length, wanted.length === 0 && count > 0 ? 1 : 0);
      const byReward = wanted.toSorted((a, b) => getReward(trajectories[b]) - getReward(trajectories[a]) || a - b);
      const positions = byReward.slice(0, best).sort((a, b) => a - b);
      countOut("best", wanted.length - positions.length, 0);
      if (positions.length > 0 || count === 0) kept.push(group);
      if (positions.length > 0 && positions.length < count) partial.set(group, positions);
    }
  }
  return { kept, partial, filteredOut };
};

/** Draws the groups whose hashes of seed and digest sort first, so that the order of the input does not matter. */
const drawSample = ({ groups }: Dataset, { sample, seed }: Selection): ReadonlySet<number> | undefined => {
  if (sample === undefined) return undefined;
  const drawn = Array.from({ length: groups.count }, (_, group) => group)
    .filter((group) => groups.isValid(group))
    .map((group) => {
      const rank = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest("hex");
      return { group, rank };
    });
  const first = drawn.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : a.group - b.group)).slice(0, sample);
  return new Set(first.map(({ group }) => group));
};

/** A case-sensitive substring, or CEL that matches a trajectory of a group. */
export interface SearchQuery {
  readonly text?: string | undefined;
  readonly where?: string | undefined;
}

/** Callbacks of a search, for each match in order and the progress from 0 to 1. */
interface SearchOptions {
  readonly signal: AbortSignal;
  readonly knownRewards: KnownRewards;
  /** Can be called again for a group of several parts. */
  onFound(group: number): void;
  onProgress(share: number): void;
}

/** Trajectories and bytes that are searched before yielding to other tasks. */
const trajectoriesAtOnce = 100;
const bytesAtOnce = 2 ** 22;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups = async (
  dataset: IndexedGroups,
  { text = "", where }: SearchQuery,
  { signal, knownRewards, onFound, onProgress }: SearchOptions,
): Promise<void> => {
  const { groups } = dataset;
  const { parts } = dataset.found;
  if (text === "" && where === undefined) return;
  const filterGroup = where === undefined ? undefined : openFilter(dataset, where, knownRewards);
  const isWanted = async (group: number): Promise<boolean> => {
    if (filterGroup === undefined) return true;
    if (!groups.isValid(group)) return false;
    return (await filterGroup(group)).wanted.length > 0;
  };
  const hasText = openTextSearch(dataset, text);
  for (let at = 0, trajectories = 0, bytes = 0; at < parts.count; at++) {
    trajectories += parts.columns.trajectories.at(at);
    bytes += parts.columns.length.at(at);
    if (trajectories >= trajectoriesAtOnce || bytes >= bytesAtOnce) {
      [trajectories, bytes] = [0, 0];
      onProgress(at / parts.count);
      await setImmediate();
      signal.throwIfAborted();
    }
    const group = groups.groupOf(at);
    // A substring is searched in each part, but an expression needs all parts.
    const isCandidate = text === "" ? groups.firstOf(group) === at : await hasText(at);
    if (isCandidate && (await isWanted(group))) onFound(group);
  }
};

const openTextSearch = (dataset: IndexedGroups, text: string): ((part: number) => Promise<boolean>) => {
  const needles = listSpellings(text).map((spelled) => Buffer.from(spelled));
  const window = new ReadWindow();
  return async (position) => {
    const own = findPart(dataset, position);
    if (own === undefined) return false;
    const bytes = await window.read(own.source, own.part.start, own.part.length);
    if (bytes.length < own.part.length) throw inputChanged(own.source.name);
    return needles.some((needle) => bytes.includes(needle));
  };
};

/** Facts of a group in expressions; `number` starts at 1. */
type GroupFacts = Readonly<
  Record<"number" | "size" | "exceptions" | "reward_mean" | "reward_std_dev" | "reward_min" | "reward_max", number>
>;

/** Fields of a trajectory in expressions: absent ones are empty, or null. */
const listFields = ["tools", "metrics", "metadata", "logs"] as const;
const plainFields = ["start_time", "initial_policy_version", "final_policy_version"] as const;

/** @throws Failure `invalid-filter`, at `place` */
type TrajectoryFilter = (trajectory: JsonObject, group: GroupFacts, place: () => string) => boolean;

/** Runs a function. @throws Failure `invalid-filter` for any error */
const withFilterFailure = <Result>(text: string, run: () => Result, place?: () => string): Result => {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const [wrong = ""] = (thrown instanceof Error ? thrown.message : "evaluation failed").split("\n", 1);
    throw invalidFilter(text, wrong, place?.());
  }
};

/** Matches expressions that can be slow: regular expressions and nested macros. */
const canBeSlow = /\bmatches\b|\b(all|exists|exists_one|map|filter)\b[\s\S]*\b(all|exists|exists_one|map|filter)\b/;

/** Time limit for a group, to which each trajectory adds a millisecond. */
const maxEvaluationMs = 2000;

const sandbox: { run?: () => void } = createContext({});
const script = new Script("run()");

/** Runs a function with V8's time limit, because only V8 can end a regular expression. Takes 70 µs. */
const runBounded = (run: () => void, timeout: number): void => {
  sandbox.run = run;
  try {
    script.runInContext(sandbox, { timeout });
  } catch (thrown) {
    throw thrown instanceof Failure
      ? thrown
      : new EvaluationError(`evaluation takes longer than ${Math.floor(timeout / 1000)} s`);
  }
};

/** @throws Failure `invalid-filter` */
export const parseFilter = (text: string): TrajectoryFilter => {
  const environment = new Environment({ limits: { maxDepth: 100 } });
  for (const name of ["reward", "messages", "group", ...listFields, ...plainFields]) {
    environment.registerVariable(name, "dyn");
  }
  const expression = withFilterFailure(text, () => {
    const parsed = environment.parse(text);
    const { valid, error } = parsed.check();
    if (!valid) throw error;
    return parsed;
  });
  return (trajectory, group, place) =>
    withFilterFailure(
      text,
      () => {
        const value: unknown = expression(toVariables(trajectory, group));
        if (typeof value === "boolean") return value;
        throw new EvaluationError("the result is not true or false");
      },
      place,
    );
};

const toVariables = (trajectory: JsonObject, group: GroupFacts): JsonObject => {
  const turns = getMember(trajectory, "messages_and_choices");
  return {
    reward: trajectory.reward,
    // A choice counts as its message.
    messages: Array.isArray(turns) ? turns.map((one) => (isObject(getMember(one, "message")) ? one.message : one)) : [],
    tools: trajectory.tools ?? [],
    metrics: trajectory.metrics ?? {},
    metadata: trajectory.metadata ?? {},
    logs: trajectory.logs ?? [],
    group,
    ...Object.fromEntries(plainFields.map((name) => [name, trajectory[name] ?? null])),
  };
};

/** Rewards of a group that are in memory. */
export type KnownRewards = (group: number) => Float64Array | undefined;

/** A group with the members that an expression names. */
interface FilteredGroup {
  readonly trajectories: readonly JsonObject[];
  /** Positions of the trajectories that the expression is true of. */
  readonly wanted: readonly number[];
}

/** Matches an expression that can read a group's exceptions. */
const mentionsExceptions = /\bgroup\b(?!\s*\.\s*(?:number|size|reward_))/;

/** Opens a filter of valid groups; without an expression, all trajectories match. @throws Failure `invalid-filter` */
const openFilter = (
  dataset: IndexedGroups,
  where: string | undefined,
  knownRewards: KnownRewards = () => undefined,
): ((group: number) => Promise<FilteredGroup>) => {
  const isTrue = where === undefined ? undefined : parseFilter(where);
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(where ?? "");
  const named = [...listFields, ...plainFields].filter(isNamed);
  const members = [...named, ...(isNamed("messages") ? ["messages_and_choices"] : [])];
  const needsExceptions = mentionsExceptions.test(where ?? "");
  const window = new ReadWindow();
  const read = async (group: number) => {
    const known = members.length > 0 || needsExceptions ? undefined : knownRewards(group);
    if (known !== undefined) return { trajectories: Array.from(known, (reward) => ({ reward })), exceptions: 0 };
    const trajectories: JsonObject[] = [];
    let exceptions = 0;
    for (const own of listParts(dataset, group)) {
      const bytes = await window.readPart(own);
      for (const one of listTrajectories(bytes, own.part)) trajectories.push(pickMembers(one, [...members, "reward"]));
      if (needsExceptions && own.part.kind === "group") {
        exceptions = elementsOf(memberAt(readRoot(bytes), "exceptions")).length;
      }
    }
    return { trajectories, exceptions };
  };
  return async (group) => {
    const { trajectories, exceptions } = await read(group);
    const positions = trajectories.map((_, at) => at);
    if (isTrue === undefined) return { trajectories, wanted: positions };
    const { mean, deviation, least, most } = computeMoments(trajectories.map(getReward).filter(Number.isFinite));
    const facts = {
      number: group + 1,
      size: trajectories.length,
      exceptions,
      reward_mean: mean,
      reward_std_dev: deviation,
      reward_min: least,
      reward_max: most,
    };
    const place = () => formatLine(locateGroup(dataset, group));
    let wanted: readonly number[] = [];
    const evaluate = () => {
      wanted = positions.filter((at) => isTrue(trajectories[at] ?? {}, facts, place));
    };
    if (!canBeSlow.test(where ?? "")) evaluate();
    else withFilterFailure(where ?? "", () => runBounded(evaluate, maxEvaluationMs + trajectories.length), place);
    return { trajectories, wanted };
  };
};

/** Returns a trajectory's reward; minus infinity if it has none. */
const getReward = (trajectory: JsonObject | undefined): number => {
  const reward = trajectory?.reward;
  return typeof reward === "number" ? reward : Number.NEGATIVE_INFINITY;
};
