/** Says of an object that lacks a field how it becomes what it should be: what other tools call it, and how they nest it. */
import { isObject, type JsonObject } from "../json/walk.ts";
import { groupingNames } from "./group-key.ts";
import { maxNameLength, shortName } from "./rules/values.ts";

/** Names that other tools have for a field. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  messages_and_choices: [
    "messages",
    "conversation",
    "conversations",
    "messages_and_choice",
    "choices",
    "turns",
    "chat",
    "history",
  ],
  reward: ["rewards", "score", "scores", "return", "total_reward", "final_reward", "episode_reward", "reward_score"],
  trajectories: ["trajectory", "rollouts", "samples", "group"],
  trajectory_groups: ["groups", "data"],
};

/** Names that tools have for what goes in and for what comes out of a model, where no format is read that has them. */
const halves: readonly (readonly [string, string])[] = [
  ["prompt", "response"],
  ["prompt", "output"],
  ["prompts", "responses"],
];

/** Names that tools have for what was preferred and what was not. */
const preferences: readonly (readonly [string, string])[] = [
  ["chosen", "rejected"],
  ["preferred_output", "non_preferred_output"],
];

/** Elements of an array that are looked at for what it is an array of. */
const lookedAt = 1;

/** What to do about a missing field, where something else seems to stand for it. */
export const insteadOf = (field: string, holder: unknown): string | undefined => {
  if (!isObject(holder)) return undefined;
  const other = otherNameOf(field, holder);
  if (field === "messages_and_choices") return nestedIn(holder) ?? messagesFrom(holder, other) ?? wrappedIn(holder);
  if (field === "trajectories" && Object.hasOwn(holder, "messages_and_choices")) {
    return 'a trajectory stands where a group should: a group is {"trajectories": [{…}]}, with the trajectory in its array';
  }
  // A list of rewards, or an object of scores, is no reward by another name.
  const isOther = other !== undefined && !(field === "reward" && typeof holder[other] === "object");
  if (isOther) return `rename ${other} to ${field}`;
  if (field === "reward") return rewardFrom(holder);
  return (field === "function" || field === "type") && isFlatTool(holder) ? toolFrom(holder) : undefined;
};

/** A tool as the Responses API and Anthropic have it: what the interface has in its function stands in it. */
const isFlatTool = (holder: JsonObject): boolean =>
  typeof holder.name === "string" && !Object.hasOwn(holder, "function");

const toolFrom = (holder: JsonObject): string =>
  `a tool is {"type": "function", "function": {"name": …}}: put what is in this one into its function${
    Object.hasOwn(holder, "input_schema") ? ", and call input_schema parameters" : ""
  }`;

/** True if an object that stands where a trajectory should plainly is none, so that what else it lacks says nothing. */
export const isNoTrajectory = (holder: unknown): boolean => {
  if (!isObject(holder) || Object.hasOwn(holder, "messages_and_choices")) return false;
  return nestedIn(holder) !== undefined || Object.values(holder).some(isWrapper);
};

const isWrapper = (value: unknown): boolean =>
  hasAny(value, ["messages_and_choices"]) ||
  (Array.isArray(value) && value.slice(0, lookedAt).some((one) => hasAny(one, [...trajectoryKeys, "trajectories"])));

/** The key that means the field: another tool's name for it, or its own in another spelling. */
const otherNameOf = (field: string, holder: JsonObject): string | undefined => {
  const known = otherNames[field]?.find((name) => Object.hasOwn(holder, name));
  if (known !== undefined) return known;
  const plain = plainOf(field);
  const key = Object.keys(holder).find((name) => name.length <= maxNameLength && plainOf(name) === plain);
  return key === undefined ? undefined : shortName(key);
};

/** A name without what spellings differ in: `messagesAndChoices` is `messages_and_choices`. */
const plainOf = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, "");

/** What stands where a trajectory should, one level too high or too low. */
const nestedIn = (holder: JsonObject): string | undefined => {
  if (Array.isArray(holder.trajectories)) {
    return "a group stands where a trajectory should: put its trajectories one level up";
  }
  if (typeof holder.role === "string") {
    return "a message stands where a trajectory should: the messages of a trajectory belong into its messages_and_choices";
  }
  return undefined;
};

/** How the messages are made of what other tools write. */
const messagesFrom = (holder: JsonObject, other: string | undefined): string | undefined => {
  const format = formatOf(holder);
  if (format !== undefined)
    return `it is another tool's row: say --from ${format}, without --follow, or have rollcall convert make groups first`;
  if (other !== undefined) return renamed(holder, other);
  for (const [ahead, behind] of preferences) {
    if (!(Object.hasOwn(holder, ahead) && Object.hasOwn(holder, behind))) continue;
    return `this is a pair of preferences: a trajectory is one of ${ahead} and ${behind}, behind its prompt, with a reward of its own`;
  }
  for (const [ahead, behind] of halves) {
    if (hasTurns(holder, ahead) && hasTurns(holder, behind)) {
      return `make messages_and_choices of ${ahead} and ${behind}, each turn of the assistant a choice`;
    }
  }
  return undefined;
};

/** The format that reads such a row when it is named. */
const formatOf = (holder: JsonObject): string | undefined => {
  if (hasTurns(holder, "prompt") && hasTurns(holder, "completion")) return "trl";
  if (hasTurns(holder, "prompt") && Array.isArray(holder.completions)) return "trl";
  if (typeof holder.input === "string" && typeof holder.output === "string") {
    return Object.hasOwn(holder, "score") ? "verl --lossy" : "openrlhf --lossy";
  }
  const { messages, conversations } = holder;
  if (areObjects(messages) && messages.some(({ role }) => role === "assistant")) return "openai-chat";
  return areObjects(conversations) && conversations.every(({ from }) => typeof from === "string")
    ? "sharegpt --lossy"
    : undefined;
};

/** True if the key holds messages or text. */
const hasTurns = (holder: JsonObject, key: string): boolean =>
  Object.hasOwn(holder, key) && (typeof holder[key] === "string" || areObjects(holder[key]));

const areObjects = (value: unknown): value is readonly JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

/** Messages by another name: each turn of the assistant counts as sampled. */
const renamed = (holder: JsonObject, other: string): string => {
  const value = holder[other];
  const isSampled = areObjects(value) && value.some(({ role }) => role === "assistant");
  return `rename ${other} to messages_and_choices${isSampled ? ", and make each turn of the assistant a choice" : ""}`;
};

/** Where the messages are one level down, in an object or in an array. */
const wrappedIn = (holder: JsonObject): string | undefined => {
  for (const [key, value] of Object.entries(holder)) {
    if (hasAny(value, ["messages_and_choices"]))
      return `it stands in ${shortName(key)}: put what is in that one level up`;
    for (const element of Array.isArray(value) ? value.slice(0, lookedAt) : []) {
      if (hasAny(element, ["trajectories"])) return `groups stand in ${shortName(key)}: rename it to trajectory_groups`;
      if (hasAny(element, trajectoryKeys)) return unwrapped(key, value);
    }
  }
  return Object.keys(holder).some((key) => trajectoryKeys.includes(key)) ? undefined : whatItIs;
};

/** What is done with a list of trajectories: it is a group, unless their keys say that they are of several. */
const unwrapped = (key: string, list: unknown): string => {
  const rows = areObjects(list) ? list : [];
  const apart = groupingNames.find((name) => new Set(rows.map((row) => JSON.stringify(row[name]))).size > 1);
  if (apart === undefined || !/^\w+$/.test(key)) {
    return `trajectories stand in ${shortName(key)}: rename it to trajectories`;
  }
  return `trajectories of several groups stand in ${key}: write one a line, and group them by ${apart} with --group-by`;
};

const trajectoryKeys: readonly string[] = ["messages_and_choices", "messages"];

const whatItIs =
  'a trajectory is {"messages_and_choices": […], "reward": 1}, and {"trajectories": […]} is a group of them, one on each line';

/** Where the reward seems to stand. */
const rewardFrom = (holder: JsonObject): string | undefined => {
  const within = Object.keys(holder).find((name) => hasAny(holder[name], ["reward"]));
  if (within !== undefined) return `it stands in ${shortName(within)}: put it beside messages_and_choices`;
  const part = Object.keys(holder).find((name) => /(?:^|_)(?:rewards?|scores?)(?:_|$)/i.test(name));
  return part === undefined
    ? undefined
    : `${shortName(part)} stands there: reward is one number for the whole trajectory`;
};

const hasAny = (value: unknown, keys: readonly string[]): boolean =>
  isObject(value) && keys.some((key) => Object.hasOwn(value, key));
