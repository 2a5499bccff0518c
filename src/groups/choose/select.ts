/** Decides which groups and trajectories are kept: by CEL, rewards, chance or shard. Finds groups for a page. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import { lineText } from "../../check/rules/places.ts";
import { inputChanged } from "../../input/index.ts";
import { spellingsOf } from "../../json/spellings.ts";
import { elementsOf, memberAt, rootOf } from "../../json/table.ts";
import { isObject, type JsonObject, memberOf } from "../../json/walk.ts";
import { membersAt, partOf, partsOf, trajectoriesIn, Window } from "../contents.ts";
import { whereWrong } from "../failures.ts";
import { momentsOf } from "../metrics/sums.ts";
import { type GroupsRead, spotOfGroup } from "../positions.ts";
import type { LeftOutBy, Reading } from "../read.ts";

/** What is wanted of an input; all of it if nothing is given. */
export interface Choosing {
  /** An expression that is true of the trajectories that are wanted. */
  readonly where?: string | undefined;
  /** How many trajectories of each group, those with the highest rewards. */
  readonly best?: number | undefined;
  /** How many groups; the seed decides which. */
  readonly sample?: number | undefined;
  readonly seed: string;
  /** One of how many parts, from 1, that groups fall into by their digests: each group is in exactly one. */
  readonly shard?: { readonly part: number; readonly of: number } | undefined;
}

/** What is kept of the groups of a reading. */
export interface Selection {
  /** Numbers of the groups that are kept. Invalid groups are kept, and stay invalid. */
  readonly kept: readonly number[];
  /** Positions of the trajectories that are kept of each group that loses some. */
  readonly cut: ReadonlyMap<number, readonly number[]>;
  /** What is left out, by the option that does it. */
  readonly leftOut: LeftOutBy;
}

/** Bytes of a digest that decide the shard of its group: as many as a number holds exactly. */
const lotBytes = 6;

/** Selects groups. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const select = async (reading: Reading, choosing: Choosing, signal: AbortSignal): Promise<Selection> => {
  const { groups } = reading;
  const { where, best, shard } = choosing;
  const asked = (["where", "best", "sample", "shard"] as const).filter((option) => choosing[option] !== undefined);
  const leftOut: { readonly [Option in keyof LeftOutBy]: { trajectories: number; groups: number } } =
    Object.fromEntries(asked.map((option) => [option, { trajectories: 0, groups: 0 }]));
  const leave = (by: keyof LeftOutBy, trajectories: number, whole: number): void => {
    const left = leftOut[by];
    if (left === undefined) return;
    left.trajectories += trajectories;
    left.groups += whole;
  };
  const sampled = sampleOf(reading, choosing);
  const isOfShard = (group: number): boolean =>
    shard === undefined || Buffer.from(groups.digestOf(group)).readUIntBE(0, lotBytes) % shard.of === shard.part - 1;
  const see = where === undefined && best === undefined ? undefined : openWhere(reading, where);
  const kept: number[] = [];
  const cut = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    const count = groups.trajectoriesOf(group);
    const isSampled = sampled?.has(group) !== false;
    if (!groups.isValid(group)) kept.push(group);
    else if (!isSampled || !isOfShard(group)) leave(isSampled ? "shard" : "sample", count, 1);
    else if (see === undefined) kept.push(group);
    else {
      const { trajectories, isWanted } = await see(group);
      const wanted = trajectories.map((_, at) => at).filter(isWanted);
      leave("where", count - wanted.length, wanted.length === 0 && count > 0 ? 1 : 0);
      const byReward = wanted.toSorted((a, b) => rewardOf(trajectories[b]) - rewardOf(trajectories[a]) || a - b);
      const positions = byReward.slice(0, best).sort((a, b) => a - b);
      leave("best", wanted.length - positions.length, 0);
      if (positions.length > 0 || count === 0) kept.push(group);
      if (positions.length > 0 && positions.length < count) cut.set(group, positions);
    }
  }
  return { kept, cut, leftOut };
};

/** Groups that chance chooses: those whose digests come first with the seed, at any position. */
const sampleOf = ({ groups }: Reading, { sample, seed }: Choosing): ReadonlySet<number> | undefined => {
  if (sample === undefined) return undefined;
  const drawn = Array.from({ length: groups.count }, (_, group) => group)
    .filter((group) => groups.isValid(group))
    .map((group) => {
      const lot = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest("hex");
      return { group, lot };
    });
  const first = drawn.sort((a, b) => (a.lot < b.lot ? -1 : a.lot > b.lot ? 1 : a.group - b.group)).slice(0, sample);
  return new Set(first.map(({ group }) => group));
};

/** What is looked for: a case-sensitive substring, or CEL that is true for one of a group's trajectories. */
export interface Sought {
  readonly text?: string | undefined;
  readonly where?: string | undefined;
}

/** How a search reports: each group that was found, in their order, and a share from 0 to 1. */
interface SearchOptions {
  readonly signal: AbortSignal;
  readonly rewardsKnown: RewardsKnown;
  /** May be called more than once for a group with several parts. */
  found(group: number): void;
  progress(share: number): void;
}

/** Trajectories, and bytes, that are searched before others get their turn. */
const trajectoriesAtOnce = 100;
const bytesAtOnce = 2 ** 22;

/** Searches all groups. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const searchGroups = async (
  reading: GroupsRead,
  { text = "", where }: Sought,
  { signal, rewardsKnown, found, progress }: SearchOptions,
): Promise<void> => {
  const { groups } = reading;
  const { parts } = reading.found;
  if (text === "" && where === undefined) return;
  const see = where === undefined ? undefined : openWhere(reading, where, rewardsKnown);
  const isWanted = async (group: number): Promise<boolean> => {
    if (see === undefined) return true;
    if (!groups.isValid(group)) return false;
    const { trajectories, isWanted } = await see(group);
    return trajectories.some((_, at) => isWanted(at));
  };
  const hasText = openText(reading, text);
  for (let at = 0, trajectories = 0, bytes = 0; at < parts.count; at++) {
    trajectories += parts.columns.trajectories.at(at);
    bytes += parts.columns.length.at(at);
    if (trajectories >= trajectoriesAtOnce || bytes >= bytesAtOnce) {
      [trajectories, bytes] = [0, 0];
      progress(at / parts.count);
      await setImmediate();
      signal.throwIfAborted();
    }
    const group = groups.groupOf(at);
    // A text is looked for in each part, and an expression is about all of them.
    const isCandidate = text === "" ? groups.firstOf(group) === at : await hasText(at);
    if (isCandidate && (await isWanted(group))) found(group);
  }
};

/** Opens the search for a text in parts, one after the other. */
const openText = (reading: GroupsRead, text: string): ((part: number) => Promise<boolean>) => {
  const needles = spellingsOf(text).map((spelled) => Buffer.from(spelled));
  const window = new Window();
  return async (position) => {
    const own = partOf(reading, position);
    if (own === undefined) return false;
    const bytes = await window.at(own.source, own.part.start, own.part.length);
    if (bytes.length < own.part.length) throw inputChanged(own.source.name);
    return needles.some((needle) => bytes.includes(needle));
  };
};

/** Facts about a group that an expression sees; its number is from 1. */
type GroupFacts = Readonly<
  Record<"number" | "size" | "exceptions" | "reward_mean" | "reward_std_dev" | "reward_min" | "reward_max", number>
>;

/** Fields of a trajectory that an expression sees: those that are empty if absent, and those that are null. */
const listFields = ["tools", "metrics", "metadata", "logs"] as const;
const plainFields = ["start_time", "initial_policy_version", "final_policy_version"] as const;

/** An expression over one trajectory; asks for its place to report an error. @throws Failure `where-wrong` */
type Wanted = (trajectory: JsonObject, group: GroupFacts, place: () => string) => boolean;

/** Parses an expression. @throws Failure `where-wrong` */
export const parseWhere = (text: string): Wanted => {
  const tried = <Result>(run: () => Result, place?: () => string): Result => {
    try {
      return run();
    } catch (thrown) {
      const [wrong = ""] = (thrown instanceof Error ? thrown.message : "it can't be evaluated").split("\n", 1);
      throw whereWrong(text, wrong, place?.());
    }
  };
  const environment = new Environment({ limits: { maxDepth: 100 } });
  for (const name of ["reward", "messages", "group", ...listFields, ...plainFields]) {
    environment.registerVariable(name, "dyn");
  }
  const expression = tried(() => {
    const parsed = environment.parse(text);
    const { valid, error } = parsed.check();
    if (!valid) throw error;
    return parsed;
  });
  return (trajectory, group, place) =>
    tried(() => {
      const value: unknown = expression(toVariables(trajectory, group));
      if (typeof value === "boolean") return value;
      throw new EvaluationError("it gives no true or false");
    }, place);
};

const toVariables = (trajectory: JsonObject, group: GroupFacts): JsonObject => {
  const turns = memberOf(trajectory, "messages_and_choices");
  return {
    reward: trajectory.reward,
    // A choice is seen as the message that was sampled.
    messages: Array.isArray(turns) ? turns.map((one) => (isObject(memberOf(one, "message")) ? one.message : one)) : [],
    tools: trajectory.tools ?? [],
    metrics: trajectory.metrics ?? {},
    metadata: trajectory.metadata ?? {},
    logs: trajectory.logs ?? [],
    group,
    ...Object.fromEntries(plainFields.map((name) => [name, trajectory[name] ?? null])),
  };
};

/** The rewards of a group if they are known already. */
export type RewardsKnown = (group: number) => Float64Array | undefined;

/** What is seen of a group: of its trajectories the members that the expression names. */
interface SeenGroup {
  readonly trajectories: readonly JsonObject[];
  /** True if the expression is true of the trajectory at a position. @throws Failure `where-wrong` */
  readonly isWanted: (at: number) => boolean;
}

/** Matches what an expression says of a group if it may be about its exceptions. */
const mayMeanExceptions = /\bgroup\b(?!\s*\.\s*(?:number|size|reward_))/;

/**
 * Opens an expression over the valid groups of a reading, one after the other; without one, all are wanted.
 * @throws Failure `where-wrong`; the function: `input-changed`
 */
const openWhere = (
  reading: GroupsRead,
  where: string | undefined,
  rewardsKnown: RewardsKnown = () => undefined,
): ((group: number) => Promise<SeenGroup>) => {
  const isTrue = where === undefined ? undefined : parseWhere(where);
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(where ?? "");
  const named = [...listFields, ...plainFields].filter(isNamed);
  const members = [...named, ...(isNamed("messages") ? ["messages_and_choices"] : [])];
  const needsExceptions = mayMeanExceptions.test(where ?? "");
  const window = new Window();
  const read = async (group: number) => {
    const known = members.length > 0 || needsExceptions ? undefined : rewardsKnown(group);
    if (known !== undefined) return { trajectories: Array.from(known, (reward) => ({ reward })), exceptions: 0 };
    const trajectories: JsonObject[] = [];
    let exceptions = 0;
    for (const own of partsOf(reading, group)) {
      const bytes = await window.of(own);
      for (const one of trajectoriesIn(bytes, own.part)) trajectories.push(membersAt(one, [...members, "reward"]));
      if (needsExceptions && own.part.kind === "group") {
        exceptions = elementsOf(memberAt(rootOf(bytes), "exceptions")).length;
      }
    }
    return { trajectories, exceptions };
  };
  return async (group) => {
    const { trajectories, exceptions } = await read(group);
    if (isTrue === undefined) return { trajectories, isWanted: () => true };
    const { mean, deviation, least, most } = momentsOf(trajectories.map(rewardOf).filter(Number.isFinite));
    const facts = {
      number: group + 1,
      size: trajectories.length,
      exceptions,
      reward_mean: mean,
      reward_std_dev: deviation,
      reward_min: least,
      reward_max: most,
    };
    const place = () => lineText(spotOfGroup(reading, group));
    return { trajectories, isWanted: (at) => isTrue(trajectories[at] ?? {}, facts, place) };
  };
};

/** A trajectory's reward; less than all others if it has none. */
const rewardOf = (trajectory: JsonObject | undefined): number => {
  const reward = trajectory?.reward;
  return typeof reward === "number" ? reward : Number.NEGATIVE_INFINITY;
};
