/** Suggests fixes for missing fields and wrong types. */

import { isObject, type JsonObject, parseJson } from "../../json/json-bytes.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { answerColumns, findRewardColumns, otherColumn } from "./names.ts";
import { maxNameLength, shortenName } from "./positions.ts";

const hasAny = (value: unknown, ...keys: readonly string[]): value is JsonObject =>
  isObject(value) && keys.some((key) => Object.hasOwn(value, key));

const areObjects = (value: unknown): value is readonly JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

/** Rows of other tools are unlikely in an array. A file may be mixed if it can have records in rollcall's format. */
type RowPlace = Readonly<{ isElement?: boolean; mayBeMixed?: boolean }>;

export const suggestForMissingField = (field: string, holder: unknown, place: RowPlace = {}) => {
  if (!isObject(holder)) return undefined;
  const alias = findAlias(field, holder);
  if (field === "messages_and_choices") return suggestForWrongLevel(holder) ?? suggestForMessages(holder, alias, place);
  if (field === "trajectories" && hasAny(holder, "messages_and_choices"))
    return 'wrap the trajectory in a group: {"trajectories": [{…}]}';
  return alias === undefined ? undefined : `rename ${alias} to ${field}`;
};

export const isNotTrajectory = (holder: unknown) =>
  isObject(holder) &&
  !hasAny(holder, "messages_and_choices") &&
  (suggestForWrongLevel(holder) !== undefined || suggestForRow(holder) !== undefined);

/** Returns the only member whose value fits. */
const findAlias = (field: string, holder: JsonObject) => {
  const fits = (name: string) => name.length <= maxNameLength && fitsField(field, holder[name]);
  const names = Object.keys(holder).filter((name) => fits(name) && !otherColumn.test(name));
  const [alias, ...others] = field === "reward" ? findRewardColumns(names) : names;
  return others.length === 0 ? alias : undefined;
};

const isTurn = ({ role, message }: JsonObject) => typeof role === "string" || isObject(message);

/** True if a value would be valid under the name of the field. */
const fitsField = (field: string, value: unknown) => {
  if (field === "reward") return typeof value === "number";
  if (field === "messages_and_choices") return areObjects(value) && value.every(isTurn);
  const element = field === "trajectories" ? "messages_and_choices" : "trajectories";
  return areObjects(value) && value.every((one) => hasAny(one, element));
};

const suggestForWrongLevel = ({ trajectories, role }: JsonObject) => {
  if (Array.isArray(trajectories)) return "move the trajectories of the group one level up";
  return typeof role === "string" ? "put the messages into the messages_and_choices of a trajectory" : undefined;
};

const suggestForMessages = (holder: JsonObject, alias: string | undefined, place: RowPlace) => {
  const hint = place.isElement ? undefined : suggestForRow(holder, place);
  if (hint !== undefined || alias === undefined) return hint;
  const turns = holder[alias];
  const hasAssistant = areObjects(turns) && turns.some(({ role }) => role === "assistant");
  if (!hasAssistant && hasAnswer(holder)) return undefined;
  return `rename ${alias} to messages_and_choices${hasAssistant ? ", and write each assistant turn as a choice" : ""}`;
};

const hasTurns = (holder: JsonObject, key: string) => typeof holder[key] === "string" || areObjects(holder[key]);

const hasAnswer = (holder: JsonObject) => answerColumns.some((name) => hasTurns(holder, name));

/** Matches a Python list of messages, as pandas writes it to CSV. */
export const pythonMessages = /^\s*\[\s*\{\s*'/;

const unwrapJson = (value: unknown) =>
  typeof value === "string" && /^\s*[[{]/.test(value) ? (parseJson(value)?.value ?? value) : value;

const isConversation = (value: unknown) =>
  areObjects(value) &&
  value.length > 1 &&
  value.every(({ role }) => typeof role === "string") &&
  value.some(({ role }) => role === "assistant");

/** Messages at these paths lack the last answer, or contain choices. */
const skippedPaths = /^(?:request|input|responses_create_params)\.|(?:^|\.)(?:prompt|messages_and_choices)$/;

/** Writers round means. */
const meanTolerance = 1e-3;

/** Returns the name of a list of scored answers if a number is their mean, so that it is the score of none of them. */
export const findAveraged = (row: unknown, mean = Number.NaN) =>
  Object.entries(isObject(row) ? row : {}).find(([, list]) => {
    // Without answers, they can be parts of one reward.
    const isAnswer = (item: JsonObject) => hasAnswer(item) || Object.values(item).some(isConversation);
    const scores = (areObjects(list) && list.every(isAnswer) ? list : []).map((item) => {
      const [name = ""] = findRewardColumns(Object.keys(item).filter((key) => typeof item[key] === "number"));
      return Number(item[name]);
    });
    const sum = scores.reduce((total, score) => total + score, 0);
    return scores.length > 1 && sum !== mean && Math.abs(sum / scores.length - mean) <= meanTolerance;
  })?.[0];

/** Finds messages by value, and the reward by name. */
const findColumns = (row: JsonObject) => {
  const values = Object.entries(row).flatMap(([name, value]) => {
    const inner = unwrapJson(value);
    return isObject(inner)
      ? Object.entries(inner).map(([key, member]) => [`${name}.${key}`, unwrapJson(member)] as const)
      : [[name, inner] as const];
  });
  const [messages] = values.find(([name, value]) => !skippedPaths.test(name) && isConversation(value)) ?? [];
  const isNumeric = (value: unknown) =>
    typeof value !== "object" && !Number.isNaN(Number(value)) && findAveraged(row, Number(value)) === undefined;
  const numeric = findRewardColumns(values.flatMap(([name, value]) => (isNumeric(value) ? name : [])));
  const candidates = numeric.length > 0 ? numeric : findRewardColumns(Object.keys(row));
  const [reward, ...others] = candidates;
  return { messages, reward: others.length === 0 ? reward : undefined, rewards: candidates };
};

const suggestForRow = (holder: JsonObject, { mayBeMixed = false }: RowPlace = {}) => {
  // An option holds for all records.
  const start = mayBeMixed ? "for a file that has only such records, pass" : "pass";
  const { input, output } = holder;
  const hasCompletion = hasTurns(holder, "completion") || Array.isArray(holder.completions);
  if (hasTurns(holder, "prompt") && hasCompletion) return `${start} --from trl`;
  if (typeof input === "string" && typeof output === "string" && hasAny(holder, "score")) return `${start} --from verl`;
  const isPython = (value: unknown) => typeof value === "string" && pythonMessages.test(value);
  const python = Object.keys(holder).find((name) => isPython(holder[name]));
  if (python !== undefined)
    return `write \`${shortenName(python)}\` as JSON (in Python, with json.dumps, not with str)`;
  const { messages, reward, rewards } = findColumns(holder);
  const options = reward === undefined || reward === "reward" ? [] : ["--reward-from", reward];
  const isTrl = hasTurns(holder, "prompt") && hasAnswer(holder);
  if (!isTrl && messages === undefined) return undefined;
  const words = formatCommandLine(["--from", isTrl ? "trl" : "openai-chat", ...options]);
  const choice = rewards.length > 1 ? `, and --reward-from with one of ${formatCommandLine(rewards)}` : "";
  const move =
    isTrl || messages === "messages" ? "" : `write \`${shortenName(messages ?? "")}\` to the key messages, and `;
  return `${move}${start} ${words}${choice}`;
};

export const suggestForWrongType = (
  found: unknown,
  { field, wanted, isElement }: { field: string; wanted: string; isElement: boolean },
) => {
  if (Array.isArray(found) && wanted === "an object") {
    const isExtraArray = isElement || found.some((item) => typeof item === "object");
    return isExtraArray ? "remove one pair of brackets" : `write a key for each value: "${field}": {"<name>": …}`;
  }
  if (typeof found !== "string") return undefined;
  if (wanted.endsWith("number") && found.trim() !== "" && Number.isFinite(Number(found)))
    return `write ${Number(found)} without quotes`;
  return /^\s*[[{]/.test(found) ? "write the JSON without quotes around it, because it was encoded twice" : undefined;
};

export const groupShapeAdvice = 'write a group as {"trajectories": [{…}, {…}]}';
export const trajectoryShape = 'write a trajectory as {"messages_and_choices": [{…}, {…}], "reward": 1}';
export const versionShape = "write the version without a fraction, such as 120";
export const toolShape = 'write a tool as {"type": "function", "function": {"name": …}}';

export const exampleShapes: Readonly<Record<string, string>> = {
  "a group": groupShapeAdvice,
  "a trajectory": trajectoryShape,
  trajectory_groups: 'write a request as {"split": "train", "trajectory_groups": [{…}, {…}]}',
  trajectories: groupShapeAdvice,
  messages_and_choices: trajectoryShape,
  reward: 'write one finite number for the whole trajectory, without quotes: "reward": 1',
  function: toolShape,
  initial_policy_version: versionShape,
  final_policy_version: versionShape,
};
