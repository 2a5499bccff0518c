/** Makes rollouts: their groups, rewards, trajectories and exceptions. */
import type { Path } from "../check/rules/positions.ts";
import { shortName } from "../check/rules/positions.ts";
import { findNearest } from "../nearest.ts";
import type { FormatRun, Rollout } from "./format.ts";
import {
  list,
  listUnlessEmpty,
  literal,
  type Member,
  type OutputJson,
  object,
  objectUnlessEmpty,
  rawLiteral,
} from "./output-json.ts";
import { ConversionError, type Value } from "./value.ts";

/** Makes something of a group: whatever is unfit in it is unfit in that group. @throws Unfit */
export const withGroup = <Made>(group: string | undefined, make: () => Made): Made => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof ConversionError) thrown.group ??= group;
    throw thrown;
  }
};

/** Makes a rollout of a part of a record: if it is unfit, the other parts are read without it. */
export const convertPart = (
  of: Value,
  about: { readonly group: string | undefined; readonly missing: string; readonly otherwise: string },
  make: (group: string) => Partial<Rollout>,
): Rollout => {
  const { group, missing, otherwise: fallbackGroup } = about;
  try {
    if (group === undefined) throw new ConversionError(missing, of);
    return { group, part: of, ...make(group) };
  } catch (thrown) {
    if (!(thrown instanceof ConversionError)) throw thrown;
    return { group: group ?? fallbackGroup, part: of, error: thrown, isUngrouped: group === undefined };
  }
};

/** A reward, and its part of the dedup key. */
export interface RolloutReward {
  readonly reward: OutputJson;
  readonly identity?: string;
}

interface TrajectoryParts {
  readonly rolloutReward: RolloutReward;
  readonly turns: readonly OutputJson[];
  readonly tools?: OutputJson | undefined;
  readonly histories?: readonly OutputJson[];
  readonly policy?: Value | undefined;
  readonly metrics?: Iterable<Member>;
  readonly metadata?: Iterable<Member>;
  readonly startTime?: OutputJson | undefined;
  /** Its own part of the dedup key. */
  readonly identity?: string;
}

/** The trajectory of a rollout; what is empty is left out. */
export const buildTrajectory = (parts: TrajectoryParts): Pick<Rollout, "identity" | "trajectory"> => {
  const {
    rolloutReward: judged,
    turns,
    tools,
    histories = [],
    policy,
    metrics,
    metadata,
    startTime,
    identity = "",
  } = parts;
  const trajectory = object({
    messages_and_choices: list(turns),
    tools,
    additional_histories: listUnlessEmpty(histories),
    reward: judged.reward,
    initial_policy_version: policy?.get("start"),
    final_policy_version: policy?.get("end"),
    metrics: metrics && objectUnlessEmpty(metrics),
    metadata: metadata && objectUnlessEmpty(metadata),
    start_time: startTime,
  });
  return { identity: `${judged.identity ?? ""}${identity}`, trajectory };
};

export const buildException = (message: OutputJson, type?: OutputJson, traceback?: OutputJson): OutputJson =>
  object({ type: type ?? literal("error"), message, traceback });

/** A value as a text: another value as its JSON. */
export const toErrorMessage = (value: Value): OutputJson => (value.isText ? value : literal(value.raw, value));

/** What is judged: a record, the ids that `--rewards` may have of it, and the format's own reward. */
interface RewardQuery {
  readonly record: Value;
  readonly ids: readonly (Value | string | undefined)[];
  readonly own?: OutputJson | undefined;
}

/** Returns the reward of a rollout: from where the person asked for it, else its own. @throws Unfit if there is none */
export const findReward = (
  { options, markRewardUsed: rewardTaken }: FormatRun,
  { record, ids, own }: RewardQuery,
): RolloutReward => {
  const { rewardFrom, rewards } = options;
  if (rewardFrom !== undefined) {
    const value = record.at(rewardFrom);
    const path = rewardFrom.join(".");
    if (value?.isNumber === true) return { reward: value, identity: `from ${path}` };
    const wrong = value === undefined ? "has nothing" : "has no number";
    const others = describeNumbers(record, rewardFrom);
    throw new ConversionError(`it ${wrong} at ${path}, where --reward-from looks${others}`, value ?? record);
  }
  if (rewards !== undefined) {
    const names = ids.flatMap((id) => (id === undefined ? [] : typeof id === "string" ? id : (id.text ?? id.raw)));
    const found = names.find((name) => rewards.has(name));
    const json = found === undefined ? undefined : rewards.get(found);
    if (found === undefined || json === undefined) {
      throw new ConversionError(`--rewards has no reward of ${names.join(" or ") || "it"}`, record);
    }
    rewardTaken(found);
    return { reward: rawLiteral(json, []), identity: `reward ${json}` };
  }
  if (own === undefined) {
    throw new ConversionError("it records no reward: say --reward-from <path>, or --rewards <file>", record);
  }
  return { reward: own };
};

/** Limits of the search for numbers in a record: its depth, and the number of values. */
const maxSearchDepth = 4;
const maxSearchedValues = 200;

/** Paths to numbers that a message names. */
const maxNamedPaths = 4;

/** Names the numbers of a record, or its lists of numbers if the path ends with a position; the most similar first. */
const describeNumbers = (record: Value, path: Path): string => {
  const isOfList = typeof path.at(-1) === "number";
  const found: string[] = [];
  let level = record.members();
  for (let depth = 0, seen = 0; depth < maxSearchDepth && seen < maxSearchedValues; depth++) {
    const looked = level.slice(0, maxSearchedValues - seen);
    seen += looked.length;
    for (const [name, value] of looked) if ((isOfList ? value.get(0) : value)?.isNumber === true) found.push(name);
    level = looked.flatMap(([name, value]) =>
      value.members().map(([key, inner]) => [`${name}.${key}`, inner] as const),
    );
  }
  const typed = path.slice(0, isOfList ? -1 : undefined).join(".");
  const near = findNearest(typed, found);
  const sorted = near === undefined ? found : [near, ...found.filter((path) => path !== near)];
  const named = sorted.slice(0, maxNamedPaths).map(shortName);
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : "";
  if (named.length === 0) return "; there is no number in it";
  return `; there is ${isOfList ? "a list of numbers" : "a number"} at ${named.join(", ")}${more}`;
};
