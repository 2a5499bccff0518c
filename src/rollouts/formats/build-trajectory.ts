/** Finds rewards and builds trajectories, or throws ConversionError. */
import { basename } from "node:path";
import { unwrap } from "../../conversation/apis/openai.ts";
import * as output from "../../json/output-json.ts";
import { ConversionError, type Members, openKeyFacts, Value } from "../../json/value.ts";
import { findNearest } from "../../text/nearest.ts";
import { formatList } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { findAveraged } from "../rules/hints.ts";
import { columns, findRewardCandidates } from "../rules/names.ts";
import { type Path, shortenName } from "../rules/positions.ts";
import type { FormatRun, Rollout, SourceRecord } from "./format.ts";

/** Returns a ConversionError, so that other parts of the record are still converted. */
export const convertPart = (part: Value, facts: Pick<Rollout, "group" | "id">, convert: () => Rollout) => {
  try {
    return { ...facts, part, ...convert() };
  } catch (thrown) {
    if (thrown instanceof ConversionError) return { ...facts, part, error: thrown };
    throw thrown;
  }
};

export const replacedContextNote =
  "the agent summarized or edited its context, so later turns follow messages that the model no longer saw";

/** Verifiers and Inspect have the versions 1 and 2. */
export const noteVersion = (run: FormatRun, subject: string, version: Value | undefined) => {
  if (version && version.number !== 1 && version.number !== 2)
    run.note(
      `read ${subject} of version ${shortenName(version.plain)} as version 2, so new fields may not be converted`,
    );
};

export const isUuid = (text: string) => /^[\da-f]{8}-?(?:[\da-f]{4}-?){3}[\da-f]{12}$/i.test(text);

type TrajectoryParts = Readonly<{
  reward: ReturnType<typeof findReward>;
  turns: readonly output.Json[];
  tools?: output.Json | undefined;
  media?: Members;
  histories?: readonly output.Json[];
  policy?: { start: Value | undefined; end: Value | undefined };
  metrics: Iterable<output.Member>;
  metadata: Iterable<output.Member>;
  startTime?: output.Json | undefined;
  identity?: string;
}>;

export const buildTrajectory = (parts: TrajectoryParts) => {
  const { reward, turns, tools, media = [], histories = [], policy, metrics, metadata, startTime } = parts;
  // With `--reward-from metrics.reward`, this member is no metric.
  const isReward = ([name, value]: output.Member) => name === "reward" && isSource(value, reward.reward);
  const trajectory = {
    messages_and_choices: turns,
    tools,
    ...(media.length > 0 && Object.fromEntries(media)),
    additional_histories: output.nonEmpty(histories),
    reward: reward.reward,
    initial_policy_version: policy?.start,
    final_policy_version: policy?.end,
    metrics: output.nonEmptyMap([...metrics].filter((one) => !isReward(one))),
    metadata: output.nonEmptyMap(metadata),
    start_time: startTime,
  };
  return { identity: `${reward.identity ?? ""}${parts.identity ?? ""}`, trajectory };
};

const isSource = (value: output.Json | undefined, of: output.Json) =>
  value instanceof Value && output.sourcesOf(of).some(({ id }) => id === value.id);

export const buildException = (recorded?: output.Json, type?: output.Json, traceback?: output.Json) => {
  const message = recorded ?? "no message is recorded";
  const isData = message instanceof Value && !message.isText;
  return { type: type ?? "error", message: isData ? output.literal(message.raw, message) : message, traceback };
};

/** The objects of a row that can state a failure, as the row itself can. */
const failureHolders = ["info", "extra_info", "metadata", "evaluation_result"];
const errorColumn = /^(?:error|exception|discard|fail(?:ure)?)(?:_(?:msg|message|reason))?$/;

/** Match names of flags that call the score invalid if they are true, and if they are false. */
const invalidFlag =
  /^(?:is_?)?aborted$|^(?:remove|discard|drop)_sample$|(?:^|_)(?:judg|scor|grad|verif|reward)\w*_(?:failed|failure|error)$/;
const validFlag = /(?:score|reward)_(?:is_)?valid$|(?:^|_)valid_(?:score|reward)$/;

/** The keys of an object that can state a failure. */
const failureKeys = openKeyFacts((keys) => ({
  holders: failureHolders.filter((name) => keys.includes(name)),
  flags: keys.filter((key) => invalidFlag.test(key) || validFlag.test(key)),
  errors: keys.filter((key) => errorColumn.test(key)),
}));

/** Finds what a row states beside its score: an error, a failed status, or that the score is invalid. */
const findStatedFailure = (row: Value) => {
  const holders = [row, ...row.facts(failureKeys).holders.map((name) => unwrap(row.require(name)))];
  const list = (kind: "flags" | "errors") =>
    holders.flatMap((one) => one.facts(failureKeys)[kind].map((key) => [key, one.require(key)] as const));
  const isMark = ([key, value]: Members[number]) =>
    value.canBeMetric && !value.isNumber && (value.isTrue ? invalidFlag : validFlag).test(key);
  const mark = list("flags").find(isMark);
  const isError = ([, value]: Members[number]) => !value.isBlank && (value.isText || value.isObject);
  const [name, error] = list("errors").find(isError) ?? [];
  if (name !== undefined && error) return { name, error, isInvalid: mark !== undefined };
  if (mark) return { name: mark[0], error: output.literal(`${mark[0]} is ${mark[1].raw}`, mark[1]), isInvalid: true };
  const status = row.get("status");
  if (!/^(?:failed|aborted|error|errored|cancell?ed)$/i.test(status?.text ?? "")) return undefined;
  return { name: "status", error: status ?? null, isInvalid: false };
};

/**
 * Returns the exception of a row without a score or an answer, or with the score 0 that its writer calls invalid.
 * Another score counts, also beside an error.
 */
export const findFailure = (
  run: FormatRun,
  row: Value,
  { score, hasAnswer }: { score: Value | undefined; hasAnswer: boolean },
): output.Json | undefined => {
  const found = findStatedFailure(row);
  if (!found) return undefined;
  const { name, error, isInvalid } = found;
  const isZero = score?.number === 0 || (score?.canBeMetric === true && !score.isNumber && !score.isTrue);
  if (!score || (isZero && (isInvalid || !hasAnswer))) {
    if (score && hasAnswer)
      run.note(`left out the reward 0 of a rollout, because \`${name}\` says that it is no score`);
    if (!(error instanceof Value)) return buildException(error, "unscored");
    const chain = error.get("error_chain_repr") ?? error.get("error_chain_str");
    if (chain) return buildException(chain, error.get("error"));
    return error.hasAny("message", "type") ? error : buildException(error);
  }
  run.note(`counted a rollout with ${isZero ? "the reward 0" : "a reward"} and a failure, which \`${name}\` states`);
  return undefined;
};

/** The names of the file for `--rewards`: without all known endings first, and the full name last. */
export const listFileIds = ({ file, value, isListed }: Pick<SourceRecord, "file" | "value" | "isListed">) => {
  if (isListed) return ["instance_id", "id"].flatMap((key) => value.textAt(key) ?? []);
  const names = [basename(file)];
  for (let [name = ""] = names; fileEnding.test(name); [name = ""] = names) names.unshift(name.replace(fileEnding, ""));
  return names;
};

const fileEnding = /\.(?:gz|zst|jsonl?|ndjson|traj|eval)$/i;

/** Returns the ids for `--rewards`, or the names of the file if the record is a whole file. */
export const listRewardIds = ({ options }: FormatRun, record: SourceRecord) => {
  const { value, isWhole = false } = record;
  if (!options.rewards) return [];
  const id = value.get("id");
  if (id && options.rewards.has(id.plain)) return [id];
  const ids = listIds(value);
  return ids.length > 0 || !isWhole ? ids : listFileIds(record);
};

export const listIds = (value: Value) =>
  rewardIdKeys.flatMap((key) => value.get(key) ?? value.get("metadata", key) ?? []);

/** Different ids of a record can be equal to ids of other records, so only `id` overrides the others. */
const rewardIdKeys = ["id", "idx", "uid", "example_id", "instance_id", "trajectory_id", "session_id"];

type RewardQuery = Readonly<{
  record: Value;
  ids: readonly (Value | string | undefined)[];
  readOwn?: () => output.Json | undefined;
  /** Default: `readPath`. */
  findValue?: (path: Path) => Value | undefined;
  /** Reads other values than numbers, such as grades. */
  readOther?: (value: Value) => output.Json | undefined;
}>;

type Reward = Readonly<{ reward: output.Json; identity?: string }>;

/** Follows the path through strings of JSON. Keys can contain dots, so longer keys are tried first. */
export const readPath = (record: Value, path: Path): Value | undefined => {
  if (path.length === 0) return record;
  const holder = unwrap(record);
  if (path.length === 1 && typeof path[0] === "string") return holder.get(path[0]);
  for (let { length } = path; length > 0; length--) {
    const child = holder.get(length === 1 && holder.isList ? (path[0] ?? "") : path.slice(0, length).join("."));
    const value = child && readPath(child, path.slice(length));
    if (value) return value;
  }
  return undefined;
};

/** `--reward-from` and `--rewards` override `readOwn`. `identity` is a part of the dedup key. */
export const findReward = (run: FormatRun, query: RewardQuery): Reward => {
  const { record, ids, readOwn } = query;
  const { rewardFrom, rewards } = run.options;
  if (rewardFrom) return readRewardFrom(run, query, rewardFrom);
  if (rewards) {
    const names = [...new Set(ids.flatMap((id) => (id instanceof Value ? id.plain : (id ?? []))))];
    const [first, ...more] = names.flatMap((name) => rewards.get(name) ?? []);
    if (more.some((json) => json !== first))
      throw record.error(`--rewards has several rewards for ${names.join(" and ")} (omit the reward of one id)`);
    if (first !== undefined) {
      for (const name of names) run.usedRewards.add(name);
      return { reward: output.rawLiteral(first, []), identity: `reward ${first}` };
    }
    if (names.length === 0) throw record.error("the record has no id for --rewards (add the key id to the record)");
    const fix = "add the reward of this record to the file of --rewards";
    throw record.error(`--rewards has no reward for ${names.join(" or ")} (${fix})`);
  }
  const reward = readOwn?.();
  if (reward === undefined) throw missingReward(record);
  return { reward: reward instanceof Value ? (toReward(run, reward) ?? reward) : reward };
};

const readRewardFrom = (run: FormatRun, { record, readOther, findValue }: RewardQuery, path: Path): Reward => {
  const value = findValue ? findValue(path) : readPath(record, path);
  const reward = value && (toReward(run, value) ?? parseReward(run, value) ?? readOther?.(value));
  const name = path.join(".");
  if (reward) return { reward, identity: `from ${name}` };
  const option = value && suggestReward([[name, value]]);
  const fix = option ? `pass ${option}` : describeNumbers(record, path);
  throw (value ?? record).error(
    `--reward-from finds ${value ? "no number" : "nothing"} at the path \`${name}\` (${fix})`,
  );
};

const toReward = (run: FormatRun, value: Value) => {
  if (value.isNumber) return value;
  if (!value.canBeMetric) return undefined;
  run.note("converted the rewards true and false to 1 and 0");
  return output.literal(value.isTrue ? 1 : 0, value);
};

const numberPattern = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?|true|false)$/i;

/** Accepts strings, because many tables contain only strings. */
export const parseReward = (run: FormatRun, value: Value) => {
  const { text = "" } = value;
  if (!numberPattern.test(text)) return undefined;
  run.note("converted rewards from strings to numbers");
  return output.rawLiteral(text.replace(/^true$/i, "1").replace(/^false$/i, "0"), [value]);
};

/** Finds the numbers of objects beside the reward, and numbers in columns such as `reward_format`. */
export const findMetrics = (record: Value): Members =>
  record.facts(columns).metrics.flatMap((key): Members => {
    const value = unwrap(record.require(key));
    if (!value.isObject) return key.startsWith("reward_") && value.isNumber ? [[key, value] as const] : [];
    const parts = value.metricMembers();
    return key === "metrics" ? parts : parts.map(([name, part]) => [`${key}.${name}`, part] as const);
  });

export const requireReward = (record: Value, key: string) => {
  const value = record.get(key);
  if (!value || value.canBeMetric) return value;
  const option = suggestReward([[key, value]]);
  const kind = value.isObject ? "an object" : value.isList ? "a list" : "a string";
  throw value.error(`${key} is ${kind}, not a number (${option ? `pass ${option}` : "write the reward as a number"})`);
};

/** Leaves out a part that its writer could not score, unless an option states its reward. */
export const skipUnscored = (run: FormatRun, reward: unknown, isTruncated = false) =>
  reward === undefined && !isTruncated && !run.options.rewardFrom && !run.options.rewards
    ? run.skip("a rollout without a score")
    : undefined;

/** @param paths the possible paths; default: the paths of numbers with usual reward names */
export const missingReward = (record: Value, paths: readonly string[] = []) => {
  const numbers = new Map(listValues(record.members(), isNumeric));
  const found = paths.length > 0 ? paths : findRewardCandidates([...numbers.keys()]);
  const listOf = (path: string) => findAveraged(record.data, numbers.get(path)?.number);
  const candidates = found.filter((path) => listOf(path) === undefined);
  const [mean] = found;
  if (mean !== undefined && candidates.length === 0)
    return record.error(
      `the reward is missing, and ${mean} is the mean of the scores in ${listOf(mean)} (write a row for each of them, with its turns and its reward)`,
    );
  const option = suggestPaths(candidates) ?? "--reward-from <path>";
  return record.error(`the reward is missing (pass ${option}, or --rewards <file>)`);
};

const suggestReward = (members: Members) =>
  suggestPaths(findRewardCandidates(listValues(members, isNumeric).map(([path]) => path)));

/** Names all paths, because another path would be another reward. */
export const suggestPaths = (paths: readonly string[]) => {
  const words = paths.map((path) => formatCommandLine([path]));
  if (words.length < 2) return words[0] && `--reward-from ${words[0]}`;
  return `--reward-from with one of ${formatList(words)}`;
};

/** TRL writes a column for each reward function, but no column for their sum. */
export const missingTrlReward = (record: Value) => {
  const names = record.metricMembers().flatMap(([key]) => (trlColumns.test(key) ? [] : [key]));
  if (!record.hasAny("advantage", "advantages") || names.length === 0) return missingReward(record);
  const sum =
    names.length === 1 ? "" : "write the sum of the reward functions to the column `reward`, as TRL adds them, or ";
  return record.error(`the reward is missing (${sum}pass ${suggestPaths(names)}, or --rewards <file>)`);
};

const trlColumns = /^(?:step|advantages?|(?:.*_)?(?:id|idx|index))$/;

const maxSearchDepth = 4;
const maxPathLength = 200;
const maxSearchedValues = 200;
const maxNamedPaths = 4;

const isNumeric = (value: Value) => value.canBeMetric || numberPattern.test(value.text ?? "");

const listValues = (members: Members, matches: (value: Value) => boolean) => {
  const found: (readonly [path: string, value: Value])[] = [];
  let level = members;
  for (let depth = 0; depth < maxSearchDepth; depth++) {
    for (const member of level) if (member[0].length <= maxPathLength && matches(member[1])) found.push(member);
    level = level.slice(0, maxSearchedValues).flatMap(([path, given]) => {
      const value = unwrap(given);
      const [item, ...more] = value.items();
      const children: Members = item && more.length === 0 ? [["0", item]] : value.members();
      return children.map(([key, child]) => [`${path}.${key}`, child] as const);
    });
  }
  return found;
};

const describeNumbers = (record: Value, path: Path) => {
  const seeksLists = typeof path.at(-1) === "number";
  const kind = seeksLists ? "lists of numbers" : "numbers";
  const matches = (value: Value) => (seeksLists ? value.get(0) : value)?.isNumber === true;
  const paths = listValues(record.members(), matches).map(([name]) => name);
  if (paths.length === 0) return `the record has no ${kind}`;
  const named = new Set([findNearest(path.join("."), paths) ?? [], paths].flat());
  return `paths of ${kind} in the record: ${formatList([...named].map(shortenName), maxNamedPaths)}`;
};
