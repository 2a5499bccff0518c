/** `--where`: an expression of CEL over a trajectory and its group, which is true for those that are wanted. */
import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import { Failure } from "../../failure.ts";
import { isObject, type JsonObject, memberOf } from "../../json/walk.ts";
import { momentsOf } from "../read/metrics/sums.ts";

/** What an expression sees of a group. */
export interface GroupFacts {
  /** Its position in the input, from 1. */
  readonly number: number;
  /** Trajectories, and exceptions beside them. */
  readonly size: number;
  readonly exceptions: number;
  readonly reward_mean: number;
  readonly reward_std_dev: number;
  readonly reward_min: number;
  readonly reward_max: number;
}

/** What an expression sees of a group, of which these are the trajectories. */
export const factsOf = (
  value: JsonObject,
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

/** A trajectory's reward; less than all others where it has none. */
export const rewardOf = (trajectory: JsonObject | undefined): number => {
  const reward = trajectory?.reward;
  return typeof reward === "number" ? reward : Number.NEGATIVE_INFINITY;
};

/** Decides of a trajectory by its place for errors. @throws Failure `where-wrong` */
export type Wanted = (trajectory: JsonObject, group: GroupFacts, place: string) => boolean;

/** Parses an expression. @throws Failure `where-wrong` */
export const parseWhere = (text: string): Wanted => {
  const wrong = (thrown: unknown, place?: string): Failure =>
    new Failure("where-wrong", { text, wrong: firstLine(thrown), ...(place === undefined ? {} : { place }) });
  const environment = new Environment({ limits: { maxDepth: 100 } });
  for (const name of ["reward", "messages", "tools", "metrics", "metadata", "logs", "group", ...plainFields]) {
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
      (thrown) => wrong(thrown, place),
    );
    if (typeof value === "boolean") return value;
    throw wrong(new EvaluationError("it gives no true or false"), place);
  };
};

/** Fields of a trajectory that an expression sees as they are. */
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
