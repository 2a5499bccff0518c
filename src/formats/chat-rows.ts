/** Rows of chat messages: OpenAI's, TRL's and ShareGPT's, and decoded ones of OpenRLHF, verl, SkyRL and NeMo RL. */
import { hash } from "node:crypto";
import { groupKeyNames } from "../check/rules/ambiguous-groups.ts";
import { commonReasons, type Format, type FormatRun, type LeftOutReasons, type Rollout } from "./format.ts";
import {
  choice,
  deriveFinish,
  isAssistantMessage,
  promptTurns,
  sampledTurns,
  systemMessage,
  textChoice,
  toFunctionTools,
  toToolCall,
  unwrapJson,
  userMessage,
} from "./messages.ts";
import { list, literal, type Member, type OutputJson, object } from "./output-json.ts";
import { buildTrajectory, findReward, type RolloutReward, withGroup } from "./rollout.ts";
import { ConversionError, type Members, metricMembers, requireItems, requireKey, type Value } from "./value.ts";

/** What the rows of a tool have, and under which keys. */
interface ChatRows extends Pick<Format, "name" | "title" | "files" | "lossy" | "left"> {
  /** The key of the reward, and the name for people if that is more than the key. */
  readonly reward: string;
  readonly rewardName?: string;
  readonly placed: readonly string[];
  /** The source of sampled turns, for people. */
  readonly sampled: string;
  /** Default: `id`. */
  readonly id?: string;
  /** True if rows can have tools and metrics, and a file can be Parquet. */
  readonly isWhole: boolean;
  recognizes(row: Value): boolean;
  /** The values that say the same in all rows of a prompt. @throws Unfit */
  prompt(row: Value): readonly Value[];
  /** @throws Unfit */
  turns(run: FormatRun, row: Value): readonly OutputJson[];
  /** The reward, if it is more than a number. @throws Unfit */
  readReward?(run: FormatRun, row: Value): OutputJson | undefined;
  /** The rollouts of a row that is a group; undefined if it is a rollout. @throws Unfit */
  readGroup?(run: FormatRun, row: Value, position: number): readonly Rollout[] | undefined;
}

const groupKeyText = "group_id, prompt_id, …, else the same prompt; of the same step";

const fullRowReasons: LeftOutReasons = [
  [commonReasons.nested, "metadata"],
  ["metrics are numbers and truth values", "metrics"],
  [commonReasons.onlyFunctions, "tools[]"],
];

const chatRows = (rows: ChatRows): Format => ({
  name: rows.name,
  title: rows.title,
  keys: {
    group: rows.readGroup === undefined ? groupKeyText : `${groupKeyText}; a row of completions is one`,
    reward: rows.rewardName ?? rows.reward,
    sampled: rows.sampled,
  },
  records: rows.isWhole ? { text: "lines", parquet: true } : { text: "lines" },
  ...(rows.files === undefined ? {} : { files: rows.files }),
  lossy: rows.lossy === true,
  recognizes: ({ value }) => rows.recognizes(value),
  open: (run) => ({ convert: ({ value, position }) => rolloutsOf(run, value, { rows, position }) }),
  left: [...(rows.isWhole ? fullRowReasons : []), ...(rows.left ?? [])],
});

const rolloutsOf = (
  run: FormatRun,
  row: Value,
  { rows, position }: { readonly rows: ChatRows; readonly position: number },
): readonly Rollout[] => {
  const key = groupKeyOf(row);
  const prompt = withGroup(key, () => rows.prompt(row));
  const whole = rows.readGroup?.(run, row, position);
  if (whole !== undefined) return whole;
  const group = key ?? `${stepOf(row)} prompt ${digestOf(prompt)}`;
  return withGroup(group, () => {
    const own = rows.readReward === undefined ? requireNumber(row, rows.reward) : rows.readReward(run, row);
    const judged = findReward(run, { record: row, ids: [row.get(rows.id ?? "id")], own });
    return [{ group, ...rolloutOf(row, { rows, rolloutReward: judged, turns: rows.turns(run, row) }) }];
  });
};

/** The key of the group of a row that has one, at its top or in its metadata. */
const groupKeyOf = (row: Value): string | undefined => {
  const holder = row.get("metadata");
  for (const name of groupKeyNames) {
    const key = row.get(name) ?? holder?.get(name);
    if (key !== undefined) return `${stepOf(row)} ${name} ${key.raw}`;
  }
  return undefined;
};

/** At another step, the same prompt was answered by another policy. */
const stepOf = (row: Value): string => row.get("step")?.raw ?? "";

/** A digest of what values say, however they are spelled. */
const digestOf = (values: readonly Value[]): string =>
  hash("sha256", JSON.stringify(values.map(({ raw }): unknown => JSON.parse(raw))));

/** The number of a key; undefined if there is none. @throws Unfit */
const requireNumber = (row: Value, key: string): Value | undefined => {
  const value = row.get(key);
  if (value?.isNumber === false) throw new ConversionError(notNumberReason(key, value), value);
  return value;
};

const notNumberReason = (key: string, value: Value): string => {
  if (value.isList) return `${key} is a list: a row of several completions has \`completions\` and \`rewards\``;
  if (value.text === undefined) return `${key} is no number`;
  return `${key} is text, no number${/\d/.test(value.text) ? ": it stands without quotes" : ""}`;
};

interface RowRollout {
  readonly rows: ChatRows;
  readonly rolloutReward: RolloutReward;
  readonly turns: readonly OutputJson[];
  readonly moreMetadata?: Members;
}

/** A rollout of a row: its turns, and what else the row says under the names that such rows have in common. */
const rolloutOf = (
  row: Value,
  { rows, rolloutReward: judged, turns, moreMetadata: more = [] }: RowRollout,
): Partial<Rollout> => {
  const top = row.members().filter(([key]) => !rows.placed.includes(key));
  const metadata = [...top, ...more, ...(row.get("metadata")?.members() ?? [])].filter(([, { isFlat }]) => isFlat);
  return buildTrajectory({
    rolloutReward: judged,
    turns,
    tools: rows.isWhole ? toFunctionTools(unwrapJson(row.get("tools"))) : undefined,
    metrics: rows.isWhole ? metricMembers(row.get("metrics")) : [],
    metadata: new Map<string, Member[1]>(metadata),
  });
};

const isTurns = (value: Value | undefined): boolean => value?.isText === true || value?.isList === true;

/** Messages before the first that `isAnswer` is true of. */
const takeBefore = (messages: readonly Value[], isAnswer: (message: Value) => boolean): readonly Value[] => {
  const first = messages.findIndex(isAnswer);
  return messages.slice(0, first < 0 ? undefined : first);
};

/** Keys that rows with messages have if they are of another format. */
const notOpenAi =
  `prompt completion completions response output info trajectory_format termination_reason reward_info simulations
  samples group_index`.split(/\s+/);

export const openaiChat = chatRows({
  name: "openai-chat",
  title: "rows of chat messages",
  reward: "reward",
  placed: ["messages", "reward", "tools"],
  sampled: "every turn of the assistant",
  isWhole: true,
  left: [["only tools have a place", "functions"]],
  recognizes: (row) => {
    const messages = row.get("messages")?.items() ?? [];
    const haveRoles = messages.length > 0 && messages.every((message) => message.textAt("role") !== undefined);
    return haveRoles && !notOpenAi.some((key) => row.get(key) !== undefined);
  },
  prompt: (row) => takeBefore(requireItems(row, "messages"), isAssistantMessage),
  turns: (run, row) => sampledTurns(run, requireKey(row, "messages"), { name: "messages" }),
});

/** Keys that results of verifiers have in addition to a prompt and a completion. */
const verifiersKeys = ["task", "answer", "info", "metrics", "example_id"];

const trlRows: ChatRows = {
  name: "trl",
  title: "rows of TRL",
  reward: "reward",
  rewardName: "reward, or rewards",
  placed: ["prompt", "completion", "completions", "reward", "rewards", "tools"],
  sampled: "the assistant's turns of completion",
  isWhole: true,
  recognizes: (row) =>
    isTurns(row.get("prompt")) &&
    (row.get("completions")?.isList === true ||
      (isTurns(row.get("completion")) && !verifiersKeys.some((key) => row.get(key) !== undefined))),
  prompt: (row) => [requireKey(row, "prompt")],
  turns: (run, row) => {
    const completion = requireKey(row, "completion");
    const prompt = promptTurns(run, requireKey(row, "prompt"), "prompt");
    return [...prompt, ...sampledTurns(run, completion, { name: "completion" })];
  },
  readGroup: (run, row, position) => {
    if (row.get("completions") === undefined) return undefined;
    const group = `row ${position}`;
    return withGroup(group, () => completionsOf(run, row).map((rollout) => ({ group, ...rollout })));
  },
};

export const trl = chatRows(trlRows);

/** A row that is a group: each completion with its reward, and with its value of each list that has one for each. */
const completionsOf = (run: FormatRun, row: Value): readonly Partial<Rollout>[] => {
  const labels = row.get("labels");
  if (labels !== undefined) {
    throw new ConversionError("labels beside completions are of the steps of one solution, and no rewards", labels);
  }
  const completions = requireItems(row, "completions");
  const count = completions.length;
  const rewards = row.get("rewards");
  if (rewards !== undefined && rewards.items().length !== count) {
    throw new ConversionError(`rewards is no list of ${count}, one for each of completions`, rewards);
  }
  const { options } = run;
  const id = row.get("id");
  const lists = row.members().filter(([key, { isList }]) => isList && !trlRows.placed.includes(key));
  const each = lists.map(([key, value]) => [key, value.items()] as const).filter(([, { length }]) => length === count);
  return completions.map((completion, at) => {
    const own = rewards?.items()[at];
    if (own?.isNumber === false) throw new ConversionError(`rewards[${at}] is no number`, own);
    // If the person says where rewards are, that is a list of them.
    const ofOne = { ...run, options: { ...options, rewardFrom: options.rewardFrom && [...options.rewardFrom, at] } };
    const judged = findReward(ofOne, { record: row, ids: [id && `${id.text ?? id.raw}/${at}`], own });
    const more = each.flatMap(([key, values]) => values.slice(at, at + 1).map((value) => [key, value] as const));
    const prompt = promptTurns(run, requireKey(row, "prompt"), "prompt");
    const turns = [...prompt, ...sampledTurns(run, completion, { name: `completions[${at}]` })];
    return rolloutOf(row, { rows: trlRows, rolloutReward: judged, turns, moreMetadata: more });
  });
};

/** Roles by the names that turns of ShareGPT have. */
const roles: Readonly<Record<string, string>> = {
  system: "system",
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  function_call: "assistant",
  tool: "tool",
  observation: "tool",
  function_response: "tool",
};

export const shareGpt = chatRows({
  name: "sharegpt",
  title: "conversations of ShareGPT",
  reward: "reward",
  placed: ["conversations", "reward", "tools", "system"],
  sampled: "every turn of the assistant",
  isWhole: true,
  lossy: true,
  recognizes: (row) => {
    const turns = row.get("conversations")?.items() ?? [];
    return turns.length > 0 && turns.every((turn) => turn.textAt("from") !== undefined);
  },
  prompt: (row) => {
    const isAnswer = (turn: Value) => roles[turn.textAt("from") ?? ""] === "assistant";
    return [row.get("system") ?? [], takeBefore(requireItems(row, "conversations"), isAnswer)].flat();
  },
  turns: (run, row) => {
    const system = row.get("system");
    return [system === undefined ? [] : systemMessage(system), ...shareGptTurns(run, row)].flat();
  },
});

const shareGptTurns = (run: FormatRun, row: Value): readonly OutputJson[] => {
  const open: string[] = [];
  return requireItems(row, "conversations").map((turn, at) => {
    const from = requireKey(turn, "from");
    const value = requireKey(turn, "value");
    const known = from.text !== undefined && Object.hasOwn(roles, from.text) ? roles[from.text] : undefined;
    if (known === undefined) throw new ConversionError(`from is none of ${Object.keys(roles).join(", ")}`, from);
    const id = known === "tool" ? open.shift() : undefined;
    // A tool that no turn of its own called was called within a text.
    const role = known === "tool" && id === undefined ? "user" : known;
    if (role !== known) run.note("results of calls that stand inside of a text are the user's turns");
    if (from.text === "function_call") {
      if (value.embeddedJson?.get("name") === undefined)
        throw new ConversionError("value is no call: it names no function", value);
      open.push(`call_${at}`);
      run.note("ids of calls are not recorded: results answer the calls in their order");
      const tool_calls = list([toToolCall(value, literal(`call_${at}`))]);
      const calling = object({ role: literal("assistant", from), content: literal(null), tool_calls });
      return choice(calling, deriveFinish(run, true));
    }
    const message = object({
      role: literal(role, from),
      tool_call_id: id === undefined ? undefined : literal(id),
      content: value,
    });
    return role === "assistant" ? choice(message, deriveFinish(run, false)) : message;
  });
};

/** Rows whose prompt and answer are decoded text: a turn of the user and one of the assistant. */
const decodedRows = ({
  prompt,
  answer,
  finish,
  recognizes,
  ...rows
}: Omit<ChatRows, "placed" | "isWhole" | "prompt" | "turns" | "sampled"> & {
  readonly prompt: string;
  readonly answer: string;
  readonly finish?: (row: Value) => Value | undefined;
}): Format =>
  chatRows({
    ...rows,
    placed: [prompt, answer, rows.reward],
    sampled: answer,
    isWhole: false,
    lossy: true,
    recognizes: (row) => row.get(prompt)?.isText === true && row.get(answer)?.isText === true && recognizes(row),
    prompt: (row) => [neededText(row, prompt)],
    turns: (run, row) => [
      userMessage(neededText(row, prompt)),
      textChoice(run, neededText(row, answer), finish?.(row)),
    ],
    left: [[commonReasons.nested, "metadata"], ...(rows.left ?? [])],
  });

const neededText = (row: Value, key: string): Value => {
  const value = requireKey(row, key);
  if (!value.isText) throw new ConversionError(`${key} is no text`, value);
  return value;
};

/** OpenRLHF's batch inference, with the reward of its reward model. */
export const openrlhf = decodedRows({
  name: "openrlhf",
  title: "rows of OpenRLHF",
  prompt: "input",
  answer: "output",
  reward: "reward",
  recognizes: (row) => row.get("reward")?.isNumber === true && row.get("score") === undefined,
});

/** verl's `rollout_data_dir`: a file for each step. */
export const verl = decodedRows({
  name: "verl",
  title: "rollouts of verl",
  prompt: "input",
  answer: "output",
  reward: "score",
  recognizes: (row) => row.get("score")?.isNumber === true && (row.get("step") ?? row.get("gts")) !== undefined,
});

/** SkyRL's `dumped_evals`: a file for each source of data. */
export const skyrl = decodedRows({
  name: "skyrl",
  title: "dumped evaluations of SkyRL",
  prompt: "input_prompt",
  answer: "output_response",
  reward: "score",
  readReward: (run, row) => {
    const score = row.get("score");
    if (score === undefined || score.isNumber) return score;
    const parts = score.items();
    if (!score.isList || parts.some(({ isNumber }) => !isNumber)) {
      throw new ConversionError("score is neither a number nor a list of them", score);
    }
    run.note("score is a list of rewards, one for each token: their sum is the reward");
    const sum = parts.reduce((total, { number = 0 }) => total + number, 0);
    return literal(sum, score);
  },
  finish: (row) => {
    const reason = row.get("stop_reason");
    return ["stop", "length", "tool_calls"].includes(reason?.text ?? "") ? reason : undefined;
  },
  recognizes: (row) => row.get("score") !== undefined,
  left: [[commonReasons.nested, "env_extras"]],
});

/** NeMo RL's `train_data_step<n>.jsonl`: the texts of turns without their roles. */
export const nemoRl = chatRows({
  name: "nemo-rl",
  title: "training data of NeMo RL",
  reward: "rewards",
  placed: ["content", "rewards"],
  sampled: "every second text of content",
  id: "idx",
  isWhole: false,
  files: /(?:^|[./])train_data_step\d+\.jsonl(?:\.gz|\.zst)?$/,
  lossy: true,
  recognizes: (row) =>
    isTurns(row.get("content")) &&
    row.get("rewards")?.isNumber === true &&
    (row.get("input_lengths") ?? row.get("generation_logprobs")) !== undefined,
  prompt: (row) => {
    const content = requireKey(row, "content");
    const turns = content.items();
    if (turns.length >= 2) return turns.slice(0, 1);
    const wrong = "content is no list of a prompt and what follows it: nobody can say where the prompt ends";
    throw new ConversionError(wrong, content);
  },
  turns: (run, row) => {
    const turns = requireItems(row, "content");
    const other = turns.find(({ isText }) => !isText);
    if (other !== undefined) throw new ConversionError("content holds something else than texts", other);
    if (turns.length > 2) {
      run.note("roles are not recorded: of more than two texts, every second one is taken as the assistant's");
    }
    return turns.map((turn, at) => (at % 2 === 0 ? userMessage(turn) : textChoice(run, turn)));
  },
  left: [
    ["tokens have no place without their texts", "token_ids token_loss_mask generation_logprobs prev_logprobs"],
    ["advantages are computed anew of the rewards", "advantages"],
  ],
});
