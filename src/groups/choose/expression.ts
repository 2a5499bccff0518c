/** `--where`: a CEL expression over a trajectory and its group, true for trajectories that are kept. */
import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import { Failure } from "../../failure.ts";
import { isObject, type JsonObject, memberOf } from "../../json/walk.ts";
import { momentsOf } from "../metrics/sums.ts";

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

/** The facts that an expression sees of a group with these trajectories. */
export const factsOf = (
  value: { readonly exceptions?: unknown },
  { trajectories, group }: { readonly trajectories: readonly JsonObject[]; readonly group: number },
): GroupFacts => {
  const { mean, deviation, least, most } = momentsOf(trajectories.map(rewardOf).filter(Number.isFinite));
  return {
    number: group + 1,
    size: trajectories.length,
    exceptions: Array.isArray(value.exceptions) ? value.exceptions.length : 0,
    reward_mean: mean,
    reward_std_dev: deviation,
    reward_min: least,
    reward_max: most,
  };
};

/** A trajectory's reward; less than all others if it has none. */
export const rewardOf = (trajectory: JsonObject | undefined): number => {
  const reward = trajectory?.reward;
  return typeof reward === "number" ? reward : Number.NEGATIVE_INFINITY;
};

/** Evaluates the expression for a trajectory; asks for its place to report an error. @throws Failure `where-wrong` */
export type Wanted = (trajectory: JsonObject, group: GroupFacts, place: () => string) => boolean;

/** What an expression may look at in addition to rewards. */
export interface Needed {
  /** Members of trajectories. */
  readonly members: ReadonlySet<string>;
  /** True if it may look at the exceptions of a group. */
  readonly exceptions: boolean;
}

/** The members of trajectories that an expression may look at: those that it names, even in a string. */
export const neededBy = (text: string): Needed => {
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(text);
  const members = [...ownFields, ...plainFields].filter(isNamed);
  const others = text.replaceAll(/\bgroup\s*\.\s*(?:number|size|reward_(?:mean|std_dev|min|max))\b/g, "");
  return {
    members: new Set(isNamed("messages") ? [...members, "messages_and_choices"] : members),
    exceptions: /\bgroup\b/.test(others),
  };
};

/** Parses an expression. @throws Failure `where-wrong` */
export const parseWhere = (text: string): Wanted => {
  const wrong = (thrown: unknown, place?: string): Failure =>
    new Failure("where-wrong", { text, wrong: firstLine(thrown), place });
  const environment = new Environment({ limits: { maxDepth: 100 } });
  for (const name of ["reward", "messages", "group", ...ownFields, ...plainFields]) {
    environment.registerVariable(name, "dyn");
  }
  const expression = tried(
    () => environment.parse(text),
    (thrown) => wrong(thrown),
  );
  const { valid, error } = expression.check();
  if (!valid) throw wrong(error);
  return (trajectory, group, place) => {
    const value: unknown = tried(
      () => expression(seenOf(trajectory, group)),
      (thrown) => wrong(thrown, place()),
    );
    if (typeof value === "boolean") return value;
    throw wrong(new EvaluationError("it gives no true or false"), place());
  };
};

/** Fields of a trajectory that an expression sees: empty if absent, and null if absent. */
const ownFields = ["tools", "metrics", "metadata", "logs"] as const;
const plainFields = ["start_time", "initial_policy_version", "final_policy_version"] as const;

const tried = <Result>(run: () => Result, failure: (thrown: unknown) => Failure): Result => {
  try {
    return run();
  } catch (thrown) {
    throw failure(thrown);
  }
};

const firstLine = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : "it can't be evaluated").split("\n", 1)[0] ?? "";

const seenOf = (trajectory: JsonObject, group: GroupFacts): JsonObject => {
  const said = memberOf(trajectory, "messages_and_choices");
  return {
    reward: trajectory.reward,
    // A choice is seen as the message that was sampled.
    messages: Array.isArray(said) ? said.map((one) => (isObject(memberOf(one, "message")) ? one.message : one)) : [],
    tools: trajectory.tools ?? [],
    metrics: trajectory.metrics ?? {},
    metadata: trajectory.metadata ?? {},
    logs: trajectory.logs ?? [],
    group,
    ...Object.fromEntries(plainFields.map((name) => [name, trajectory[name] ?? null])),
  };
};
