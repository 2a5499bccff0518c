/** Converts rows with chat messages or plain text, which several trainers and people write. */
import * as chat from "../../conversation/apis/openai.ts";
import type { SampledRecord } from "../../conversation/finish-reason.ts";
import { type Json, literal } from "../../json/output-json.ts";
import { type Members, Value } from "../../json/value.ts";
import { pythonMessages } from "../rules/hints.ts";
import { answerColumns, columns, findRewardColumns, otherColumn } from "../rules/names.ts";
import type { Path } from "../rules/positions.ts";
import {
  buildTrajectory,
  convertPart,
  findFailure,
  findMetrics,
  findReward,
  listIds,
  listRewardIds,
  missingReward,
  missingTrlReward,
  readPath,
  requireReward,
} from "./build-trajectory.ts";
import type { Format, FormatRun, RowTurns, SourceRecord } from "./format.ts";
import * as keys from "./row-keys.ts";
import { isLogged, readTables } from "./trl-tables.ts";

/** What rows without a known writer have in common. Other columns become metadata or metrics, or stay unread. */
interface Mapping {
  readonly name: string;
  readonly title: string;
  readonly keys: Pick<Format["keys"], "sampled"> & Partial<Format["keys"]>;
  /** The column with the prompt. Default: the prompt is before the first answer of the messages. */
  readonly prompt?: string;
  /** The columns that can have the answer. The first one that a row has decides. */
  readonly answers: readonly string[];
  readonly reward: string;
  /** Further columns that are neither metadata nor metrics. */
  readonly used?: readonly string[];
  /** Another column that is equal in a group. */
  readonly beside?: string;
  readonly isLossy?: boolean;
  recognizes(row: Value, isGiven?: boolean): boolean | undefined;
  readReward?(run: FormatRun, row: Value): Json | undefined;
  findGroup?(row: Value): string | undefined;
  /** Returns the id of the rollout in its group. */
  findId?(row: Value): string | undefined;
}

const toFormat = (rows: Mapping): Format => ({
  ...rows,
  keys: {
    group: `${rows.prompt ? "a row with a list in `completions`, or " : ""}the rows with the same group_id, or else with the same step and the same prompt_id (or task_id, …) or prompt`,
    reward: `\`${rows.reward}\``,
    ...rows.keys,
  },
  records: { text: "lines", parquet: true },
  recognizes: ({ value }, isGiven) => rows.recognizes(listPage(value)?.[0] ?? value, isGiven),
  takesGroupKey: true,
  listTurns: (row) => listTurns(rows, row),
  open: (run) => {
    const { preview, find, readSteps } = keys.openRowKeys(rows);
    const findPromptKey = keys.openPromptKeys(run);
    const divisions = keys.openDivisions(listUsed(rows));
    let last: { file: string; steps: ReadonlyMap<string, string> } = { file: "", steps: new Map() };
    const convert = (record: SourceRecord) => {
      const { file, isTruncated } = record;
      const recorded = readSteps(record);
      // The step can be in the missing part of a truncated row.
      const steps = isTruncated && last.file === file ? new Map([...last.steps, ...recorded]) : recorded;
      last = { file, steps };
      record.steps = keys.formatSteps(steps);
      const recordedKey = find(record);
      const rollouts = convertRow(run, rows, { record, recordedKey, steps, findPromptKey });
      if (!/^(?:group_|u)id /.test(recordedKey ?? "")) divisions.add(record);
      return rollouts;
    };
    return {
      preview,
      convert: (record) => {
        const page = listPage(record.value);
        if (!page) return convert(record);
        const total = record.value.get("total")?.number ?? 0;
        if (total > page.length) run.warn("incomplete-page", { shown: page.length, total }, record);
        return page.flatMap((value) => {
          const row: SourceRecord = { ...record, value };
          return convertPart(value, {}, () => {
            const [rollout = {}] = convert(row);
            return { group: row.group, ...rollout };
          });
        });
      },
      listNotes: divisions.listNotes,
    };
  },
});

/** Returns the rows of a service's page, such as `{"page": 1, "total": 40, "samples": […]}`. */
const listPage = (value: Value) => {
  if (!value.get("total")?.isNumber || !value.hasAny("page", "limit", "offset")) return undefined;
  const lists = value.members().filter(([, list]) => list.numberCount === undefined && list.get(0)?.isObject);
  return lists.length === 1 ? lists[0]?.[1].items() : undefined;
};

interface ReadRow {
  readonly record: SourceRecord;
  readonly recordedKey: string | undefined;
  readonly steps: ReadonlyMap<string, string>;
  readonly findPromptKey: ReturnType<typeof keys.openPromptKeys>;
}

const convertRow = (run: FormatRun, rows: Mapping, { record, recordedKey, steps: known, findPromptKey }: ReadRow) => {
  const { value: row, steps = "" } = record;
  const nameKey = (name: string) => [...(name === "group_id" ? [] : known.keys()), name].join(" and ");
  // The policy changes at each step, so only a group that the file states can have several steps.
  const key = recordedKey?.startsWith("group_id ") ? recordedKey : recordedKey && `${steps} ${recordedKey}`;
  if (key !== undefined) record.group = { key, by: nameKey(/^[\w-]+(?= )/.exec(recordedKey ?? "")?.[0] ?? "uid") };
  const { rewards, rewardFrom = [rows.reward] } = run.options;
  const score = readPath(row, rewardFrom);
  const failure = rewards ? undefined : findFailure(run, row, { score, hasAnswer: hasAnswer(rows, row) });
  const isNamed = () => recordedKey !== undefined || keys.findRolloutId(row) !== undefined || listIds(row).length > 0;
  // A failed rollout can lack its turns.
  const isBare = failure !== undefined && !row.has(rows.prompt ?? "messages") && isNamed();
  const prompt = isBare ? [] : readPrompt(rows, row);
  const isList = answerOf(rows, row) === "completions";
  // Rollouts of different contexts are never one group.
  const context = keys.listContext(run, row, prompt, !isList && record.group === undefined);
  if (isList) {
    record.group = { key: `${record.file} row ${record.position}`, by: "row", isDerived: !record.group };
    return convertCompletions(run, record, rows);
  }
  // An empty prompt, as of a failed rollout, names no group.
  const promptKey = () =>
    prompt.length === 0
      ? `${record.file} row ${record.position}`
      : findPromptKey(steps, [...prompt, ...context], listMedia(row));
  record.group ??= { key: promptKey(), by: nameKey("prompt"), isDerived: true };
  if (!rewards && !score && isEmpty(row, rewardFrom)) return run.skip("a row without a score");
  if (failure !== undefined) return [{ exception: failure }];
  const readOwn = () => (rows.readReward ? rows.readReward(run, row) : requireReward(row, rows.reward));
  const reward = findReward(run, { record: row, ids: listRewardIds(run, record), readOwn });
  refuseInnerTurns(rows, row);
  return [buildTrajectory({ reward, turns: readTurns(run, rows, row), ...readMembers(run, row, rows) })];
};

/** @throws ConversionError for a list of turns, whose first prompt and last answer are those of the row */
const refuseInnerTurns = (rows: Mapping, row: Value) => {
  const used = listUsed(rows);
  const messages = rows.prompt === undefined ? requireMessages(row).items() : [];
  const start = rows.prompt === undefined ? messages[0]?.get("content") : row.get(rows.prompt);
  const end = rows.prompt === undefined ? messages.at(-1)?.get("content") : row.get(answerOf(rows, row));
  const has = (item: Value | undefined, of: Value | undefined) =>
    of !== undefined && item?.members().some(([, { raw }]) => raw === of.raw) === true;
  const isTurn = (item: Value) =>
    !item.has("role") && item.members().filter(([, one]) => one.isText || one.isList).length > 1;
  for (const [key, list] of row.members()) {
    if (used.includes(key) || list.numberCount !== undefined) continue;
    const items = list.items();
    const areTurns = items.length > 1 && items.every(isTurn) && has(items[0], start) && has(items.at(-1), end);
    if (areTurns || items.some((item) => item.get("messages")?.isList))
      throw list.error(`the row has its turns in ${key} (write them to the list \`messages\`, or omit ${key})`);
  }
};

/** True if the object with the reward is empty, as evalscope writes it if the judge failed. */
const isEmpty = (row: Value, path: Path) => {
  const holder = path.length > 1 ? readPath(row, path.slice(0, -1)) : undefined;
  return holder?.isObject === true && holder.members().every(([, { isNull }]) => isNull);
};

const listMedia = (row: Value): Members =>
  row.facts(columns).media.flatMap((key) => (row.require(key).canBeMetric ? [] : [[key, row.require(key)] as const]));

const readMembers = (run: FormatRun, row: Value, rows: Mapping, completionMembers: Members = []) => {
  const used = [...listUsed(rows), answerOf(rows, row)];
  const top = row.members().filter(([key]) => !used.includes(key));
  const tools = chat.toRowTools(
    run,
    chat.unwrap(["tools", "tool_definitions", "functions"].map((key) => row.get(key)).find((value) => value)),
  );
  const metrics = findMetrics(row);
  const metricIds = new Set(metrics.map(([, { id }]) => id));
  const media = listMedia(row);
  // Arrow writes null for each key that only other rows have, and Parquet has no keys without a value.
  const isMetadata = ([key, { isScalar, id }]: Members[number]) =>
    isScalar && !media.some(([name]) => name === key) && !metricIds.has(id);
  const others = [
    ...keys.listInnerSteps(row),
    ...keys.listUsage(row),
    ...top,
    ...completionMembers,
    ...row.members("metadata"),
  ];
  return { tools, media, metrics, metadata: others.filter(isMetadata) };
};

const canBeTurns = (value: Value | undefined) => value?.isText || value?.isList;

const takeBefore = (messages: readonly Value[], isAnswer: (message: Value) => boolean) => {
  const first = messages.findIndex(isAnswer);
  return first < 0 ? messages : messages.slice(0, first);
};

/** True for a row with a result of tau2, mini-swe-agent or a stored call, or with a prompt and its answer. */
const isOtherRow = (row: Value, messages: Value | undefined) =>
  row.hasAny("reward_info", "trajectory_format") ||
  row.get("output", "choices")?.isList ||
  row.get("info")?.hasAny("exit_status", "model_stats") ||
  (row.has("prompt") && !endsWithAnswer(messages) && answerColumns.some((name) => canBeTurns(row.get(name))));

/** @throws ConversionError if the messages end before an answer that another column has */
const requireAnswer = (run: FormatRun, row: Value, messages: Value) => {
  if (endsWithAnswer(messages)) return;
  const canBeAnswer = ([key, given]: Members[number]) => {
    const value = chat.unwrap(given);
    if (value.raw === messages.raw || otherColumn.test(key)) return false;
    const ends = [value, value.items().at(-1)].flatMap((one) => [one, one?.get("message")]);
    return ends.some(isAnswer) || (canBeTurns(given) && key !== "answer" && answerColumns.includes(key));
  };
  const [name] = row.members().find(canBeAnswer) ?? [];
  if (name !== undefined)
    throw row.error(`the messages end before the answer, which can be \`${name}\` (append it to them as a message)`);
  if (messages.items().at(-1)?.textAt("role") === "user")
    run.note("some rows end with a message of the user (if another column has the answer, append it as a message)");
};

const isAnswer = (message: Value | undefined) => /^(?:assistant|tool_call)$/.test(message?.textAt("role") ?? "");
const endsWithAnswer = (messages: Value | undefined) => isAnswer(messages?.items().at(-1));

const listUsed = ({ prompt, answers, reward, used = [] }: Mapping): readonly (string | undefined)[] => [
  prompt,
  answers[0],
  reward,
  "tools",
  ...used,
];

const answerOf = ({ answers }: Mapping, row: Value) => answers.find((name) => row.has(name)) ?? answers[0] ?? "";

const hasAnswer = (rows: Mapping, row: Value) =>
  rows.prompt === undefined
    ? chat.unwrap(row.get("messages"))?.items().some(isAnswer) === true
    : row.has(answerOf(rows, row));

const readPrompt = ({ prompt, beside = "" }: Mapping, row: Value) => {
  if (prompt === undefined) return takeBefore(requireMessages(row).items(), isAnswer);
  const history = row.get("history");
  if (history?.get(0)) throw history.error(`history has earlier turns (write them to the list \`${prompt}\`)`);
  return [row.require(prompt), row.get(beside) ?? null];
};

/** Returns the messages, or the texts, of a row; undefined for several rollouts. */
const listTurns = (rows: Mapping, row: Value): RowTurns | undefined => {
  const answer = answerOf(rows, row);
  if (answer === "completions") return undefined;
  return keys.readTurns(row, { prompt: rows.prompt, answer }, rows.findId?.(row));
};

const readTurns = (run: FormatRun, rows: Mapping, row: Value) => {
  if (rows.prompt === undefined) {
    const messages = requireMessages(row);
    requireAnswer(run, row, messages);
    return chat.toTurns(run, messages, { name: "messages", sampled: { record: row } });
  }
  const answer = answerOf(rows, row);
  if (answer !== rows.answers[0]) run.note(`read the completions from the key \`${answer}\``);
  if (isLogged(row) && !chat.unwrap(row.get(rows.prompt))?.isList)
    run.note("converted each prompt to one message of the user, because the file has the decoded text of the prompt");
  return readCompletion(run, rows.prompt, { record: row }, [answer, row.require(answer)]);
};

const readCompletion = (
  run: FormatRun,
  prompt: string,
  sampled: SampledRecord,
  [name, value]: readonly [string, Value],
) => [
  ...chat.toTurns(run, sampled.record.require(prompt), { name: prompt }),
  ...chat.toTurns(run, value, { name, sampled }),
];

const requireMessages = (row: Value) => {
  const value = row.require("messages");
  const messages = chat.unwrap(value);
  if (messages.isList) return messages;
  if (pythonMessages.test(value.text ?? ""))
    throw row.error("`messages` is text of Python, not JSON (write it with json.dumps, not with str)");
  throw value.error("`messages` is not a list");
};

export const openaiChat = toFormat({
  name: "openai-chat",
  title: "rows of chat messages",
  answers: ["messages"],
  reward: "reward",
  keys: { sampled: "all turns of the assistant" },
  recognizes: (row, isGiven) => {
    const messages = chat.unwrap(row.get("messages"));
    return chat.haveTexts(messages, "role") && (isGiven || !isOtherRow(row, messages));
  },
});

const trlRows: Mapping = {
  name: "trl",
  title: "rows of TRL",
  prompt: "prompt",
  answers: ["completion", "completions", ...answerColumns],
  reward: "reward",
  used: ["completions", "rewards"],
  keys: { reward: "`reward` or `rewards`", sampled: "the assistant's turns in `completion`" },
  recognizes: (row, isGiven) =>
    (row.get("prompt")?.isText || row.get("prompt", 0)?.isObject) &&
    (chat.unwrap(row.get("completions"))?.isList ||
      canBeTurns(row.get(isGiven || row.get("reward")?.isNumber ? answerOf(trlRows, row) : "completion"))),
  readReward: (_, row) => {
    const reward = requireReward(row, "reward");
    if (!reward) throw missingTrlReward(row);
    return reward;
  },
};

export const trl = readTables(toFormat(trlRows));

const rolloutNumbers = /_\d+_\d+(?="$)/;

export const verl = toFormat({
  name: "verl",
  title: "rollouts of verl",
  prompt: "input",
  answers: ["output"],
  reward: "score",
  // The expected answer tells prompts with unrecorded images apart.
  beside: "gts",
  keys: {
    group:
      "the rows with the same `step` and the same `uid` (without the numbers of the rollout and the output), or else the same prompt and `gts`",
    sampled: "the texts in `output`",
  },
  isLossy: true,
  recognizes: (row, isGiven) =>
    row.get("input")?.isText &&
    row.get("output")?.isText &&
    (isGiven || (row.get("score")?.canBeMetric && row.hasAny("step", "gts"))),
  readReward: (run, row) => readScore(run, row),
  // In 0.8.0 and newer, a uid is `{prompt}_{rollout}_{output}`. Other rollouts of a prompt have the same uid.
  findGroup: (row) => row.get("uid")?.raw.replace(rolloutNumbers, ""),
  findId: (row) => {
    const { raw = "" } = row.get("uid") ?? {};
    return rolloutNumbers.test(raw) ? raw.replace(/_\d+"$/, "") : undefined;
  },
});

/** Writers copy what the reward function returned over the row, also its own `score`, which has no penalties. */
const readScore = (run: FormatRun, row: Value) => {
  const [score, total] = [requireReward(row, "score"), row.get("reward")];
  const penalty = row.get("overlong_reward");
  if (total?.canBeMetric && total.number !== score?.number) {
    run.note("used `reward` instead of `score`, because `score` is only a part of it");
    return total;
  }
  if (total || penalty?.number === undefined || score?.number === undefined) return score;
  run.note("used the sum of `score` and `overlong_reward` as the reward");
  return literal(score.number + penalty.number, score);
};

/** Another list with the length of `completions` has one metadata value for each completion. */
const convertCompletions = (run: FormatRun, record: SourceRecord, rows: Mapping) => {
  const row = record.value;
  const labels = row.get("labels");
  if (labels) throw labels.error("the labels are not rewards, because they rate the steps of one solution");
  const completions = row.requireItems("completions");
  const count = completions.length;
  const list = chat.unwrap(row.get("rewards"));
  const rewards = list?.items();
  const rowIds = listRewardIds(run, record).map((id) => (id instanceof Value ? id.plain : id));
  const lists = row.members().filter(([key, { isList }]) => isList && !listUsed(rows).includes(key));
  const each = lists.map(([key, value]) => [key, value.items()] as const).filter(([, { length }]) => length === count);
  return completions.map((completion, at) => {
    const readOwn = () => {
      const reward = rewards?.[at];
      if (list && rewards?.length !== count)
        throw list.error(`rewards is not a list of ${count} values, one for each completion`);
      if (reward?.canBeMetric === false) throw reward.error(`rewards.${at} is not a number`);
      if (!reward) throw missingReward(row, findRewardColumns(each.map(([key]) => key)));
      return reward;
    };
    // With --reward-from, the path leads to a list of rewards.
    const rewardFrom = run.options.rewardFrom?.concat(at);
    const runAt = { ...run, options: { ...run.options, rewardFrom } };
    const ids = rowIds.map((id) => `${id}/${at}`);
    const reward = findReward(runAt, { record: row, ids, readOwn });
    const itemMembers = each.flatMap(([key, values]) => values.slice(at, at + 1).map((value) => [key, value] as const));
    const sampled = { record: row, completion: { at, count } };
    const turns = readCompletion(run, "prompt", sampled, [`completions.${at}`, completion]);
    return buildTrajectory({ reward, turns, ...readMembers(run, row, rows, itemMembers) });
  });
};
