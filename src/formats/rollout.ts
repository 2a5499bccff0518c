/** Makes rollouts: their groups, rewards, trajectories and exceptions. */
import type { Path } from "../check/rules/places.ts";
import { shortName } from "../check/rules/places.ts";
import { nearestFirst } from "../nearest.ts";
import { type Built, list, listUnlessEmpty, type Member, object, objectUnlessEmpty, said, saidAs } from "./built.ts";
import type { FormatRun, Rollout } from "./format.ts";
import { Unfit, type Value } from "./value.ts";

/** Makes something of a group: whatever is unfit in it is unfit in that group. @throws Unfit */
export const inGroup = <Made>(group: string | undefined, make: () => Made): Made => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof Unfit) thrown.group ??= group;
    throw thrown;
  }
};

/** Makes a rollout of a part of a record: if it is unfit, the other parts are read without it. */
export const rolloutApart = (
  of: Value,
  about: { readonly group: string | undefined; readonly missing: string; readonly otherwise: string },
  make: (group: string) => Partial<Rollout>,
): Rollout => {
  const { group, missing, otherwise } = about;
  try {
    if (group === undefined) throw new Unfit(missing, of);
    return { group, of, ...make(group) };
  } catch (thrown) {
    if (!(thrown instanceof Unfit)) throw thrown;
    return { group: group ?? otherwise, of, unfit: thrown, isUnplaced: group === undefined };
  }
};

/** A reward, and its part of the dedup key. */
export interface Reward {
  readonly reward: Built;
  readonly identity?: string;
}

interface Parts {
  readonly judged: Reward;
  readonly turns: readonly Built[];
  readonly tools?: Built | undefined;
  readonly histories?: readonly Built[];
  readonly policy?: Value | undefined;
  readonly metrics?: Iterable<Member>;
  readonly metadata?: Iterable<Member>;
  readonly startTime?: Built | undefined;
  /** Its own part of the dedup key. */
  readonly identity?: string;
}

/** The trajectory of a rollout; what is empty is left out. */
export const trajectoryOf = (parts: Parts): Pick<Rollout, "identity" | "trajectory"> => {
  const { judged, turns, tools, histories = [], policy, metrics, metadata, startTime, identity = "" } = parts;
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

export const exceptionOf = (message: Built, type?: Built, traceback?: Built): Built =>
  object({ type: type ?? said("error"), message, traceback });

/** A value as a text: another value as its JSON. */
export const asMessage = (value: Value): Built => (value.isText ? value : said(value.raw, value));

/** What is judged: a record, the ids that `--rewards` may have of it, and the format's own reward. */
interface Judged {
  readonly record: Value;
  readonly ids: readonly (Value | string | undefined)[];
  readonly own?: Built | undefined;
}

/** Returns the reward of a rollout: from where the person asked for it, else its own. @throws Unfit if there is none */
export const judge = ({ options, rewardTaken }: FormatRun, { record, ids, own }: Judged): Reward => {
  const { rewardFrom, rewards } = options;
  if (rewardFrom !== undefined) {
    const value = record.at(rewardFrom);
    const path = rewardFrom.join(".");
    if (value?.isNumber === true) return { reward: value, identity: `from ${path}` };
    const wrong = value === undefined ? "has nothing" : "has no number";
    const others = numbersText(record, rewardFrom);
    throw new Unfit(`it ${wrong} at ${path}, where --reward-from looks${others}`, value ?? record);
  }
  if (rewards !== undefined) {
    const names = ids.flatMap((id) => (id === undefined ? [] : typeof id === "string" ? id : (id.text ?? id.raw)));
    const found = names.find((name) => rewards.has(name));
    const json = found === undefined ? undefined : rewards.get(found);
    if (found === undefined || json === undefined) {
      throw new Unfit(`--rewards has no reward of ${names.join(" or ") || "it"}`, record);
    }
    rewardTaken(found);
    return { reward: saidAs(json, []), identity: `reward ${json}` };
  }
  if (own === undefined) {
    throw new Unfit("it records no reward: say --reward-from <path>, or --rewards <file>", record);
  }
  return { reward: own };
};

/** Limits of the search for numbers in a record: its depth, and the number of values. */
const maxDepth = 4;
const maxSeen = 200;

/** Paths to numbers that a message names. */
const maxNamed = 4;

/** Names the numbers of a record, or its lists of numbers if the path ends with a position; the most similar first. */
const numbersText = (record: Value, path: Path): string => {
  const isOfList = typeof path.at(-1) === "number";
  const found: string[] = [];
  let level = record.members();
  for (let depth = 0, seen = 0; depth < maxDepth && seen < maxSeen; depth++) {
    const looked = level.slice(0, maxSeen - seen);
    seen += looked.length;
    for (const [name, value] of looked) if ((isOfList ? value.get(0) : value)?.isNumber === true) found.push(name);
    level = looked.flatMap(([name, value]) =>
      value.members().map(([key, inner]) => [`${name}.${key}`, inner] as const),
    );
  }
  const typed = path.slice(0, isOfList ? -1 : undefined).join(".");
  const named = nearestFirst(typed, found).slice(0, maxNamed).map(shortName);
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : "";
  if (named.length === 0) return "; there is no number in it";
  return `; there is ${isOfList ? "a list of numbers" : "a number"} at ${named.join(", ")}${more}`;
};
