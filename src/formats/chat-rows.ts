/** Rows of chat messages: OpenAI's, TRL's and ShareGPT's, and decoded ones of OpenRLHF, verl, SkyRL and NeMo RL. */
import { hash } from "node:crypto";
import { groupKeyNames } from "../check/rules/in-doubt.ts";
import { type Built, list, type Member, object, said } from "./built.ts";
import { type Format, type FormatRun, type Reasons, type Rollout, why } from "./format.ts";
import {
  choice,
  derivedFinish,
  functionTools,
  givenTurns,
  isAssistants,
  parsed,
  sampledText,
  sampledTurns,
  systemTurn,
  toolCall,
  userTurn,
} from "./messages.ts";
import { inGroup, judge, type Reward, trajectoryOf } from "./rollout.ts";
import { type Members, measuredIn, needed, neededItems, Unfit, type Value } from "./value.ts";

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
  turns(run: FormatRun, row: Value): readonly Built[];
  /** The reward, if it is more than a number. @throws Unfit */
  rewardIn?(run: FormatRun, row: Value): Built | undefined;
  /** The rollouts of a row that is a group; undefined if it is a rollout. @throws Unfit */
  group?(run: FormatRun, row: Value, position: number): readonly Rollout[] | undefined;
}

const groupKeyFound = "group_id, prompt_id, …, else the same prompt; of the same step";

const leftOfWhole: Reasons = [
  [why.nested, "metadata"],
  ["metrics are numbers and truth values", "metrics"],
  [why.onlyFunctions, "tools[]"],
];

const chatRows = (rows: ChatRows): Format => ({
  name: rows.name,
  title: rows.title,
  keys: {
    group: rows.group === undefined ? groupKeyFound : `${groupKeyFound}; a row of completions is one`,
    reward: rows.rewardName ?? rows.reward,
    sampled: rows.sampled,
  },
  records: rows.isWhole ? { text: "lines", parquet: true } : { text: "lines" },
  ...(rows.files === undefined ? {} : { files: rows.files }),
  lossy: rows.lossy === true,
  recognizes: ({ value }) => rows.recognizes(value),
  open: (run) => ({ convert: ({ value, position }) => rolloutsOf(run, value, { rows, position }) }),
  left: [...(rows.isWhole ? leftOfWhole : []), ...(rows.left ?? [])],
});

const rolloutsOf = (
  run: FormatRun,
  row: Value,
  { rows, position }: { readonly rows: ChatRows; readonly position: number },
): readonly Rollout[] => {
  const key = groupKeyOf(row);
  const prompt = inGroup(key, () => rows.prompt(row));
  const whole = rows.group?.(run, row, position);
  if (whole !== undefined) return whole;
  const group = key ?? `${stepOf(row)} prompt ${digestOf(prompt)}`;
  return inGroup(group, () => {
    const own = rows.rewardIn === undefined ? numberOf(row, rows.reward) : rows.rewardIn(run, row);
    const judged = judge(run, { record: row, ids: [row.get(rows.id ?? "id")], own });
    return [{ group, ...rolloutOf(row, { rows, judged, turns: rows.turns(run, row) }) }];
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
const numberOf = (row: Value, key: string): Value | undefined => {
  const value = row.get(key);
  if (value?.isNumber === false) throw new Unfit(notNumber(key, value), value);
  return value;
};

const notNumber = (key: string, value: Value): string => {
  if (value.isList) return `${key} is a list: a row of several completions has \`completions\` and \`rewards\``;
  if (value.text === undefined) return `${key} is no number`;
  return `${key} is text, no number${/\d/.test(value.text) ? ": it stands without quotes" : ""}`;
};

interface Made {
  readonly rows: ChatRows;
  readonly judged: Reward;
  readonly turns: readonly Built[];
  readonly more?: Members;
}

/** A rollout of a row: its turns, and what else the row says under the names that such rows have in common. */
const rolloutOf = (row: Value, { rows, judged, turns, more = [] }: Made): Partial<Rollout> => {
  const top = row.members().filter(([key]) => !rows.placed.includes(key));
  const metadata = [...top, ...more, ...(row.get("metadata")?.members() ?? [])].filter(([, { isFlat }]) => isFlat);
  return trajectoryOf({
    judged,
    turns,
    tools: rows.isWhole ? functionTools(parsed(row.get("tools"))) : undefined,
    metrics: rows.isWhole ? measuredIn(row.get("metrics")) : [],
    metadata: new Map<string, Member[1]>(metadata),
  });
};

const isTurns = (value: Value | undefined): boolean => value?.isText === true || value?.isList === true;

/** Messages before the first that `isAnswer` is true of. */
const before = (messages: readonly Value[], isAnswer: (message: Value) => boolean): readonly Value[] => {
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
  prompt: (row) => before(neededItems(row, "messages"), isAssistants),
  turns: (run, row) => sampledTurns(run, needed(row, "messages"), { name: "messages" }),
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
  prompt: (row) => [needed(row, "prompt")],
  turns: (run, row) => {
    const completion = needed(row, "completion");
    const prompt = givenTurns(run, needed(row, "prompt"), "prompt");
    return [...prompt, ...sampledTurns(run, completion, { name: "completion" })];
  },
  group: (run, row, position) => {
    if (row.get("completions") === undefined) return undefined;
    const group = `row ${position}`;
    return inGroup(group, () => completionsOf(run, row).map((rollout) => ({ group, ...rollout })));
  },
};

export const trl = chatRows(trlRows);

/** A row that is a group: each completion with its reward, and with its value of each list that has one for each. */
const completionsOf = (run: FormatRun, row: Value): readonly Partial<Rollout>[] => {
  const labels = row.get("labels");
  if (labels !== undefined) {
    throw new Unfit("labels beside completions are of the steps of one solution, and no rewards", labels);
  }
  const completions = neededItems(row, "completions");
  const count = completions.length;
  const rewards = row.get("rewards");
  if (rewards !== undefined && rewards.items().length !== count) {
    throw new Unfit(`rewards is no list of ${count}, one for each of completions`, rewards);
  }
  const { options } = run;
  const id = row.get("id");
  const lists = row.members().filter(([key, { isList }]) => isList && !trlRows.placed.includes(key));
  const each = lists.map(([key, value]) => [key, value.items()] as const).filter(([, { length }]) => length === count);
  return completions.map((completion, at) => {
    const own = rewards?.items()[at];
    if (own?.isNumber === false) throw new Unfit(`rewards[${at}] is no number`, own);
    // If the person says where rewards are, that is a list of them.
    const ofOne = { ...run, options: { ...options, rewardFrom: options.rewardFrom && [...options.rewardFrom, at] } };
    const judged = judge(ofOne, { record: row, ids: [id && `${id.text ?? id.raw}/${at}`], own });
    const more = each.flatMap(([key, values]) => values.slice(at, at + 1).map((value) => [key, value] as const));
    const prompt = givenTurns(run, needed(row, "prompt"), "prompt");
    const turns = [...prompt, ...sampledTurns(run, completion, { name: `completions[${at}]` })];
    return rolloutOf(row, { rows: trlRows, judged, turns, more });
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
    return [row.get("system") ?? [], before(neededItems(row, "conversations"), isAnswer)].flat();
  },
  turns: (run, row) => {
    const system = row.get("system");
    return [system === undefined ? [] : systemTurn(system), ...shareGptTurns(run, row)].flat();
  },
});

const shareGptTurns = (run: FormatRun, row: Value): readonly Built[] => {
  const open: string[] = [];
  return neededItems(row, "conversations").map((turn, at) => {
    const from = needed(turn, "from");
    const value = needed(turn, "value");
    const known = from.text !== undefined && Object.hasOwn(roles, from.text) ? roles[from.text] : undefined;
    if (known === undefined) throw new Unfit(`from is none of ${Object.keys(roles).join(", ")}`, from);
    const id = known === "tool" ? open.shift() : undefined;
    // A tool that no turn of its own called was called within a text.
    const role = known === "tool" && id === undefined ? "user" : known;
    if (role !== known) run.note("results of calls that stand inside of a text are the user's turns");
    if (from.text === "function_call") {
      if (value.inner?.get("name") === undefined) throw new Unfit("value is no call: it names no function", value);
      open.push(`call_${at}`);
      run.note("ids of calls are not recorded: results answer the calls in their order");
      const tool_calls = list([toolCall(value, said(`call_${at}`))]);
      const calling = object({ role: said("assistant", from), content: said(null), tool_calls });
      return choice(calling, derivedFinish(run, true));
    }
    const message = object({
      role: said(role, from),
      tool_call_id: id === undefined ? undefined : said(id),
      content: value,
    });
    return role === "assistant" ? choice(message, derivedFinish(run, false)) : message;
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
    turns: (run, row) => [userTurn(neededText(row, prompt)), sampledText(run, neededText(row, answer), finish?.(row))],
    left: [[why.nested, "metadata"], ...(rows.left ?? [])],
  });

const neededText = (row: Value, key: string): Value => {
  const value = needed(row, key);
  if (!value.isText) throw new Unfit(`${key} is no text`, value);
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
  rewardIn: (run, row) => {
    const score = row.get("score");
    if (score === undefined || score.isNumber) return score;
    const parts = score.items();
    if (!score.isList || parts.some(({ isNumber }) => !isNumber)) {
      throw new Unfit("score is neither a number nor a list of them", score);
    }
    run.note("score is a list of rewards, one for each token: their sum is the reward");
    const sum = parts.reduce((total, { number = 0 }) => total + number, 0);
    return said(sum, score);
  },
  finish: (row) => {
    const reason = row.get("stop_reason");
    return ["stop", "length", "tool_calls"].includes(reason?.text ?? "") ? reason : undefined;
  },
  recognizes: (row) => row.get("score") !== undefined,
  left: [[why.nested, "env_extras"]],
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
    const content = needed(row, "content");
    const turns = content.items();
    if (turns.length >= 2) return turns.slice(0, 1);
    const wrong = "content is no list of a prompt and what follows it: nobody can say where the prompt ends";
    throw new Unfit(wrong, content);
  },
  turns: (run, row) => {
    const turns = neededItems(row, "content");
    const other = turns.find(({ isText }) => !isText);
    if (other !== undefined) throw new Unfit("content holds something else than texts", other);
    if (turns.length > 2) {
      run.note("roles are not recorded: of more than two texts, every second one is taken as the assistant's");
    }
    return turns.map((turn, at) => (at % 2 === 0 ? userTurn(turn) : sampledText(run, turn)));
  },
  left: [
    ["tokens have no place without their texts", "token_ids token_loss_mask generation_logprobs prev_logprobs"],
    ["advantages are computed anew of the rewards", "advantages"],
  ],
});
