/** Finds messages and rewards in rows of other tools, and suggests options that read them. */
import { isObject, type JsonObject, parseJson } from "../../json/json-bytes.ts";

/** Matches names such as `reward`, `total_score` and `rewards.total`. */
const rewardPath =
  /(?:^|\.)(?:(?:total|final|overall|episode)_?)?(?:reward|score|rating|return)$|(?:reward|score|rating|eval)\w*\.(?:total|final|overall|value)$/i;

/** Matches names such as `my_reward` and `scores.style`, but not `scores.id`. */
const possiblePath =
  /(?:reward|score|rating)s?$|(?:reward|score|rating|eval)\w*\.(?!(?:.*[._])?(?:id|idx|index|step|prediction)$|.*metadata\.)/i;

/** If the choice is unclear, returns all possible names. */
export const findRewardColumns = (names: readonly string[]) => {
  const likely = names.filter((name) => rewardPath.test(name));
  const chosen = likely.length > 1 ? likely.filter((name) => name === "reward") : likely;
  return chosen.length > 0 ? chosen : names.filter((name) => possiblePath.test(name));
};

/** Also returns the parts of an object with rewards, because another one of them can be meant. */
export const findRewardCandidates = (names: readonly string[]) => {
  const chosen = findRewardColumns(names);
  const parentOf = (name: string) => name.replace(/\.[^.]+$/, "");
  // A total makes the other members of its object parts of it.
  const totals = new Set(chosen.map(parentOf));
  const isPart = (name: string) => /^(?:rewards?|scores?|reward_\w+)\.[^.]+$/.test(name) && possiblePath.test(name);
  const parts = names.filter((name) => isPart(name) && !totals.has(parentOf(name)));
  return chosen.includes("reward") ? chosen : [...chosen, ...parts];
};

/** Matches a Python list of messages, as pandas writes it to CSV. */
export const pythonMessages = /^\s*\[\s*\{\s*'/;

/** The likeliest name is first. Beside another one, `answer` is what a grader expects. */
export const answerColumns = "completion response output generation responses answer".split(" ");

const unwrapJson = (value: unknown) =>
  typeof value === "string" && /^\s*[[{]/.test(value) ? (parseJson(value)?.value ?? value) : value;

const isConversation = (value: unknown) =>
  Array.isArray(value) && value.length > 1 && value.some((item) => isObject(item) && item.role === "assistant");

/** Messages at these paths lack the last answer, or contain choices. */
const skippedPaths = /^(?:request|input|responses_create_params)\.|(?:^|\.)(?:prompt|messages_and_choices)$/;

/** Finds messages by value, and the reward by name. */
export const findColumns = (row: JsonObject) => {
  const values = Object.entries(row).flatMap(([name, value]) => {
    const inner = unwrapJson(value);
    return isObject(inner)
      ? Object.entries(inner).map(([key, member]) => [`${name}.${key}`, unwrapJson(member)] as const)
      : [[name, inner] as const];
  });
  const [messages] = values.find(([name, value]) => !skippedPaths.test(name) && isConversation(value)) ?? [];
  const isNumeric = (value: unknown) => typeof value !== "object" && !Number.isNaN(Number(value));
  const numeric = findRewardColumns(values.flatMap(([name, value]) => (isNumeric(value) ? name : [])));
  const candidates = numeric.length > 0 ? numeric : findRewardColumns(Object.keys(row));
  const [reward, ...others] = candidates;
  return { messages, reward: others.length === 0 ? reward : undefined, rewards: candidates };
};
