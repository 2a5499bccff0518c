/** Says how a value becomes what it should be: what other tools call it, how they nest it, and what looks like it. */
import { isObject, type JsonObject } from "../json/walk.ts";
import { findNearest } from "../nearest.ts";
import { groupKeyCandidates } from "./group-key.ts";
import { maxNameLength, shortName } from "./rules/positions.ts";

/** Names that other tools have for a field. */
const fieldAliases: Readonly<Record<string, string>> = {
  messages_and_choices: "messages conversation conversations messages_and_choice choices turns chat history",
  reward: "rewards score scores return total_reward final_reward episode_reward reward_score",
  trajectories: "trajectory rollouts samples group",
  trajectory_groups: "groups data",
};

/** Names that tools have for what goes in and for what comes out of a model, if no format is read that has them. */
const promptResponseKeys: readonly (readonly [string, string])[] = [
  ["prompt", "response"],
  ["prompt", "output"],
  ["prompts", "responses"],
];

/** Names that tools have for what was preferred and what was not. */
const preferenceKeys: readonly (readonly [string, string])[] = [
  ["chosen", "rejected"],
  ["preferred_output", "non_preferred_output"],
];

const trajectoryKeys: readonly string[] = ["messages_and_choices", "messages"];

const has = (value: unknown, ...keys: readonly string[]): value is JsonObject =>
  isObject(value) && keys.some((key) => Object.hasOwn(value, key));

const areObjects = (value: unknown): value is readonly JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

/** The first element of an array: it tells what it is an array of. */
const firstElement = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

/** What to do about a field that an object lacks, if something else seems to be it. */
export const hintForMissingField = (field: string, holder: unknown): string | undefined => {
  if (!isObject(holder)) return undefined;
  const other = findAlias(field, holder);
  if (field === "messages_and_choices")
    return hintForWrongLevel(holder) ?? hintForMessages(holder, other) ?? hintForWrapper(holder);
  if (field === "trajectories" && has(holder, "messages_and_choices")) {
    return 'a trajectory stands where a group should: a group is {"trajectories": [{…}]}, with the trajectory in its array';
  }
  // A list of rewards, or an object of scores, is no reward by another name.
  const isOther = other !== undefined && !(field === "reward" && typeof holder[other] === "object");
  if (isOther) return `rename ${other} to ${field}`;
  if (field === "reward") return hintForReward(holder);
  // The Responses API and Anthropic have in a tool what the interface has in its function.
  if (!(field === "function" || field === "type") || typeof holder.name !== "string" || has(holder, "function")) {
    return undefined;
  }
  const more = has(holder, "input_schema") ? ", and call input_schema parameters" : "";
  return `a tool is {"type": "function", "function": {"name": …}}: put what is in this one into its function${more}`;
};

/** True if an object that stands where a trajectory should plainly is none, so that what else it lacks says nothing. */
export const isNotTrajectory = (holder: unknown): boolean =>
  isObject(holder) &&
  !has(holder, "messages_and_choices") &&
  (hintForWrongLevel(holder) !== undefined ||
    Object.values(holder).some(
      (value) => has(value, "messages_and_choices") || has(firstElement(value), ...trajectoryKeys, "trajectories"),
    ));

/** The key that means the field: another tool's name for it, or its own in another spelling. */
const findAlias = (field: string, holder: JsonObject): string | undefined => {
  const known = fieldAliases[field]?.split(" ").find((name) => Object.hasOwn(holder, name));
  if (known !== undefined) return known;
  /** A name without what spellings differ in: `messagesAndChoices` is `messages_and_choices`. */
  const plain = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, "");
  const key = Object.keys(holder).find((name) => name.length <= maxNameLength && plain(name) === plain(field));
  return key === undefined ? undefined : shortName(key);
};

/** What stands where a trajectory should, one level too high or too low. */
const hintForWrongLevel = ({ trajectories, role }: JsonObject): string | undefined => {
  if (Array.isArray(trajectories)) {
    return "a group stands where a trajectory should: put its trajectories one level up";
  }
  return typeof role === "string"
    ? "a message stands where a trajectory should: the messages of a trajectory belong into its messages_and_choices"
    : undefined;
};

const hintForMessages = (holder: JsonObject, other: string | undefined): string | undefined => {
  const format = detectFormat(holder);
  if (format !== undefined)
    return `it is another tool's row: say --from ${format}, without --follow, or have rollcall convert make groups first`;
  if (other !== undefined) {
    const sampled = hasAssistant(holder[other]) ? ", and make each turn of the assistant a choice" : "";
    return `rename ${other} to messages_and_choices${sampled}`;
  }
  for (const [ahead, behind] of preferenceKeys) {
    if (!(has(holder, ahead) && has(holder, behind))) continue;
    return `this is a pair of preferences: a trajectory is one of ${ahead} and ${behind}, behind its prompt, with a reward of its own`;
  }
  const [ahead, behind] = promptResponseKeys.find((both) => both.every((key) => hasTurns(holder, key))) ?? [];
  return ahead === undefined
    ? undefined
    : `make messages_and_choices of ${ahead} and ${behind}, each turn of the assistant a choice`;
};

const hasAssistant = (value: unknown): boolean => areObjects(value) && value.some(({ role }) => role === "assistant");

/** True if the key has messages or text. */
const hasTurns = (holder: JsonObject, key: string): boolean =>
  has(holder, key) && (typeof holder[key] === "string" || areObjects(holder[key]));

/** The format that reads such a row if it is named. */
const detectFormat = (holder: JsonObject): string | undefined => {
  const { input, output, messages, conversations } = holder;
  if (hasTurns(holder, "prompt") && (hasTurns(holder, "completion") || Array.isArray(holder.completions))) return "trl";
  if (typeof input === "string" && typeof output === "string") {
    return has(holder, "score") ? "verl --lossy" : "openrlhf --lossy";
  }
  if (hasAssistant(messages)) return "openai-chat";
  const isShared = areObjects(conversations) && conversations.every(({ from }) => typeof from === "string");
  return isShared ? "sharegpt --lossy" : undefined;
};

/** Where the messages are one level down, in an object or in an array. */
const hintForWrapper = (holder: JsonObject): string | undefined => {
  for (const [key, value] of Object.entries(holder)) {
    const name = shortName(key);
    if (has(value, "messages_and_choices")) return `it stands in ${name}: put what is in that one level up`;
    if (has(firstElement(value), "trajectories")) return `groups stand in ${name}: rename it to trajectory_groups`;
    if (!has(firstElement(value), ...trajectoryKeys)) continue;
    // A list of trajectories is a group, unless their keys say that they are of several.
    const rows = areObjects(value) ? value : [];
    const apart = groupKeyCandidates.find((own) => new Set(rows.map((row) => JSON.stringify(row[own]))).size > 1);
    if (apart === undefined || !/^\w+$/.test(key)) return `trajectories stand in ${name}: rename it to trajectories`;
    return `trajectories of several groups stand in ${key}: write one a line, and group them by ${apart} with --group-by`;
  }
  return has(holder, ...trajectoryKeys)
    ? undefined
    : 'a trajectory is {"messages_and_choices": […], "reward": 1}, and {"trajectories": […]} is a group of them, one on each line';
};

/** Where the reward seems to stand. */
const hintForReward = (holder: JsonObject): string | undefined => {
  const within = Object.keys(holder).find((name) => has(holder[name], "reward"));
  if (within !== undefined) return `it stands in ${shortName(within)}: put it beside messages_and_choices`;
  const part = Object.keys(holder).find((name) => /(?:^|_)(?:rewards?|scores?)(?:_|$)/i.test(name));
  return part === undefined
    ? undefined
    : `${shortName(part)} stands there: reward is one number for the whole trajectory`;
};

/** How a value of the wrong type becomes one of the right type, if it looks like one. */
export const hintForWrongType = (
  found: unknown,
  { field, wanted }: { readonly field: string; readonly wanted: string },
): string | undefined => {
  const isNumber = wanted.endsWith("number");
  if (field === "reward" && found === null)
    return "a reward can't be left out: write a number, or leave out the trajectory";
  if (field === "reward" && typeof found === "object") return "it is one number for the whole trajectory";
  if (Array.isArray(found)) return wanted === "an object" ? "there is one array too many around it" : undefined;
  const list = wanted === "an array" ? listFields[field] : undefined;
  if (list !== undefined && has(found, ...list.keys)) return `one ${list.one} is an array of one: "${field}": [{…}]`;
  if (typeof found === "boolean" && isNumber) return `write ${Number(found)}`;
  if (typeof found !== "string") return undefined;
  if (isNumber && found.trim() !== "" && Number.isFinite(Number(found))) {
    return `write it without quotes: ${Number(found)}`;
  }
  return /^\s*[[{]/.test(found) && !wanted.endsWith("string")
    ? "it holds JSON as text, written twice: parse the string once more"
    : undefined;
};

/** What lists are of, and the keys that tell one. */
const listFields: Readonly<Record<string, { readonly one: string; readonly keys: readonly string[] }>> = {
  trajectory_groups: { one: "group", keys: ["trajectories"] },
  trajectories: { one: "trajectory", keys: ["messages_and_choices"] },
  messages_and_choices: { one: "message", keys: ["role", "message"] },
};

/** Roles of messages. Assumed: what deployed services accept. */
export const roles: ReadonlySet<string> = new Set(["developer", "system", "user", "assistant", "tool", "function"]);

/** What other frameworks call the roles. */
const roleAliases: Readonly<Record<string, string>> = {
  user: "human environment env prompter",
  assistant: "gpt ai bot model chatbot agent policy completion",
  tool: "observation function_response ipython tool_result tool_response",
  system: "instruction",
};

/** Characters of a role that is no role that are looked at. */
const maxRoleLength = 20;

/** The role that was probably meant. */
export const suggestRole = (role: unknown): string | undefined => {
  if (typeof role !== "string") return undefined;
  const meant = Object.entries(roleAliases).find(([, names]) => names.split(" ").includes(role.toLowerCase()));
  return meant?.[0] ?? findNearest(role.slice(0, maxRoleLength), roles);
};

const responsesItemPrefix = "this is an item of the Responses API:";

/** What becomes of the items of the Responses API that are no messages. */
const responsesItemHints: ReadonlyMap<unknown, string> = new Map([
  ["function_call", `${responsesItemPrefix} write it as tool_calls of an assistant message, call_id as the id`],
  [
    "function_call_output",
    `${responsesItemPrefix} write it as a tool message, call_id as tool_call_id and output as content`,
  ],
  ["reasoning", `${responsesItemPrefix} leave it out, or keep it as a key of the assistant message behind it`],
]);

/** What to do with a message that has another framework's shape instead of a role. */
export const hintForMissingRole = (message: unknown): string | undefined => {
  const { from, type } = isObject(message) ? message : {};
  const item = responsesItemHints.get(type);
  if (item !== undefined) return item;
  const sender = typeof from === "string" ? from : type;
  const role = suggestRole(sender);
  if (role === undefined) return undefined;
  return typeof from === "string"
    ? `from and value are called role and content here: ${sender} is the role ${role}`
    : `type is called role here: ${sender} is the role ${role}`;
};
