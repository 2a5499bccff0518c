/** `--where`: a CEL expression over a trajectory and its group, true for trajectories that are wanted. */

import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import { lineText } from "../../check/rules/places.ts";
import { isObject, type JsonObject, memberOf } from "../../json/walk.ts";
import { membersIn, partsOf, Window } from "../contents.ts";
import { whereWrong } from "../failures.ts";
import { momentsOf } from "../metrics/sums.ts";
import { spotOfGroup } from "../positions.ts";
import type { Reading } from "../read.ts";

/** What an expression sees of a group. */
interface GroupFacts {
  /** Its position in the input, from 1. */
  readonly number: number;
  /** Trajectories, and exceptions in place of others. */
  readonly size: number;
  readonly exceptions: number;
  readonly reward_mean: number;
  readonly reward_std_dev: number;
  readonly reward_min: number;
  readonly reward_max: number;
}

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
      throw whereWrong({ text, wrong, place: place?.() });
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

/** What is seen of a group, no more of which is read and parsed than the expression may look at. */
interface SeenGroup {
  readonly trajectories: readonly JsonObject[];
  /** True if the expression is true of the trajectory at a position. @throws Failure `where-wrong` */
  readonly isWanted: (at: number) => boolean;
}

/**
 * Opens an expression over the valid groups of a reading, one after the other; without one, all are wanted.
 * @throws Failure `where-wrong`; the function: `input-changed`
 */
export const openWhere = (
  reading: Reading,
  where: string | undefined,
  rewardsKnown: RewardsKnown = () => undefined,
): ((group: number) => Promise<SeenGroup>) => {
  const isTrue = where === undefined ? undefined : parseWhere(where);
  const see = openGroups(reading, where ?? "", rewardsKnown);
  return async (group) => {
    const { trajectories, exceptions } = await see(group);
    if (isTrue === undefined) return { trajectories, isWanted: () => true };
    const { mean, deviation, least, most } = momentsOf(trajectories.map(rewardOf).filter(Number.isFinite));
    const facts = {
      number: group + 1,
      size: trajectories.length,
      exceptions: Array.isArray(exceptions) ? exceptions.length : 0,
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
export const rewardOf = (trajectory: JsonObject | undefined): number => {
  const reward = trajectory?.reward;
  return typeof reward === "number" ? reward : Number.NEGATIVE_INFINITY;
};

/** Matches what an expression can say of a group without its exceptions. */
const withoutExceptions = /\bgroup\s*\.\s*(?:number|size|reward_(?:mean|std_dev|min|max))\b/g;

/** Opens what reads the members of groups that an expression may look at: those that it names, even in a string. */
const openGroups = (
  reading: Reading,
  where: string,
  rewardsKnown: RewardsKnown,
): ((group: number) => Promise<{ readonly trajectories: readonly JsonObject[]; readonly exceptions?: unknown }>) => {
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(where);
  const members = [...listFields, ...plainFields].filter(isNamed);
  // If most members are needed, whole lines are parsed.
  const isWhole = isNamed("messages") || /\bgroup\b/.test(where.replaceAll(withoutExceptions, ""));
  const window = new Window();
  return async (group) => {
    const known = isWhole || members.length > 0 ? undefined : rewardsKnown(group);
    if (known !== undefined) return { trajectories: Array.from(known, (reward) => ({ reward })) };
    const trajectories: JsonObject[] = [];
    for (const own of partsOf(reading, group)) {
      const bytes = await window.of(own);
      if (!isWhole) {
        trajectories.push(...membersIn(bytes, own.part, [...members, "reward"]));
        continue;
      }
      const value: unknown = JSON.parse(bytes.toString("utf8"));
      if (own.part.kind === "group" && isObject(value))
        return { trajectories: objectsIn(value.trajectories), exceptions: value.exceptions };
      trajectories.push(...objectsIn([value]));
    }
    return { trajectories };
  };
};

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
