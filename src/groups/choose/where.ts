/** `--where`: a CEL expression over a trajectory and its group, true for trajectories that are wanted. */
import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import { lineText } from "../../check/rules/places.ts";
import { elementsOf, memberAt, rootOf } from "../../json/table.ts";
import { isObject, type JsonObject, memberOf } from "../../json/walk.ts";
import { membersAt, partsOf, trajectoriesIn, Window } from "../contents.ts";
import { whereWrong } from "../failures.ts";
import { momentsOf } from "../metrics/sums.ts";
import { type GroupsRead, spotOfGroup } from "../positions.ts";

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
export const openWhere = (
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
export const rewardOf = (trajectory: JsonObject | undefined): number => {
  const reward = trajectory?.reward;
  return typeof reward === "number" ? reward : Number.NEGATIVE_INFINITY;
};
