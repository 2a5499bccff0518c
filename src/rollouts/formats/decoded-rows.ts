/** Converts rows of trainers that write decoded text. */
import { choice, textChoice, toLogprobs } from "../messages/chat.ts";
import { openFinish } from "../messages/finish-reason.ts";
import { addition, literal } from "../messages/output-json.ts";
import { checkAnswer, requireOwnWords, toPromptTurns } from "../messages/template-turns.ts";
import type { Value } from "../messages/value.ts";
import type { Path } from "../rules/positions.ts";
import { isUuid, readPath, requireReward } from "./build-trajectory.ts";
import { type ChatRows, chatRows } from "./chat-rows.ts";
import type { Format, FormatRun } from "./format.ts";

interface DecodedRows extends Omit<ChatRows, "usedKeys" | "keys" | "isDataset" | "readPrompt" | "readTurns"> {
  prompt: string;
  answer: string;
  /** The path of the expected answer, which tells prompts with unrecorded images apart. */
  expected?: Path;
  keys?: Pick<Format["keys"], "group">;
  /** Returns the end of a prompt that the writer added after sampling. */
  findAddedText?(row: Value): string | undefined;
}

const decodedRows = ({ prompt, answer, expected, recognizes, findAddedText, ...rows }: DecodedRows) => {
  const readPrompt = (row: Value) => {
    const value = requireText(row, prompt);
    const instruction = row.get("instruction");
    if (instruction?.isText) throw instruction.error(`the prompt is in two columns, instruction and ${prompt}`);
    const added = findAddedText?.(row);
    return { value, text: added && value.text?.slice(0, -added.length) };
  };
  return chatRows({
    ...rows,
    usedKeys: [prompt, answer, rows.rewardKey],
    keys: { ...rows.keys, sampled: `the texts in \`${answer}\`` },
    isDataset: false,
    isLossy: true,
    recognizes: (row) => row.get(prompt)?.isText && row.get(answer)?.isText && recognizes(row),
    listTurns: (row) => ({ prompt: row.textAt(prompt) ?? "", sampled: row.textAt(answer) ?? "" }),
    hasPrompts: true,
    readPrompt: (row) => {
      const { value, text } = readPrompt(row);
      return [text === undefined ? value : literal(text, value), (expected && readPath(row, expected)) ?? null];
    },
    readTurns: (run, row) => {
      const { value, text } = readPrompt(row);
      if (text !== undefined) run.note("removed the reward that OpenRLHF added to the prompt after sampling");
      checkAnswer(run, value.text ?? "", requireText(row, answer));
      return [...toPromptTurns(run, value, text), textChoice(run, requireText(row, answer), { record: row })];
    },
  });
};

const requireText = (row: Value, key: string) => {
  const value = row.require(key);
  if (!value.isText) throw value.error(`${key} is not a string`);
  return value;
};

const maxRounding = 0.005_001;

export const openrlhf = decodedRows({
  name: "openrlhf",
  title: "rows of OpenRLHF",
  prompt: "input",
  answer: "output",
  rewardKey: "reward",
  recognizes: (row) => row.get("reward")?.canBeMetric && !row.hasAny("score", "instruction"),
  // The processor `csft` adds the row's own reward. With --enable_csft, the model sees one reward in each prompt.
  findAddedText: (row) => {
    const [added, reward] = / <rm_score>: (-?\d+\.\d\d) $/.exec(row.textAt("input") ?? "") ?? [];
    return Math.abs(Number(reward) - (row.get("reward")?.number ?? Number.NaN)) < maxRounding ? added : undefined;
  },
});

const rolloutNumbers = /_\d+_\d+(?="$)/;

/** verl writes these rows to `rollout_data_dir`. */
export const verl = decodedRows({
  name: "verl",
  title: "rollouts of verl",
  keys: {
    group:
      "the rows with the same `step` and the same `uid` (without the numbers of the rollout and the output), or else the same prompt and `gts`",
  },
  prompt: "input",
  answer: "output",
  expected: ["gts"],
  rewardKey: "score",
  // Writers copy what the reward function returned over the row, also its own `score`, which has no penalties.
  readReward: (run, row) => {
    const [score, total] = [requireReward(row, "score"), row.get("reward")];
    const penalty = row.get("overlong_reward");
    if (total?.canBeMetric && total.number !== score?.number) {
      run.note("used `reward` instead of `score`, because `score` is only a part of it");
      return total;
    }
    if (total || penalty?.number === undefined || score?.number === undefined) return score;
    run.note("used the sum of `score` and `overlong_reward` as the reward");
    return literal(score.number + penalty.number, score);
  },
  recognizes: (row) => row.get("score")?.canBeMetric && row.hasAny("step", "gts"),
  // In 0.8.0 and newer, a uid is `{prompt}_{rollout}_{output}`. Other rollouts of a prompt have the same uid.
  findGroup: (row) => row.get("uid")?.raw.replace(rolloutNumbers, ""),
  findOutputs: ({ value, file }) => {
    const { raw = "" } = value.get("uid") ?? {};
    return rolloutNumbers.test(raw) ? `${file} ${value.get("step")?.raw} ${raw.replace(/_\d+"$/, "")}` : undefined;
  },
  openIds: () => (record) => {
    const { raw = "", text = "" } = record.value.get("uid") ?? {};
    return rolloutNumbers.test(raw) && isUuid(text.replace(/_\d+_\d+$/, "")) ? raw : undefined;
  },
});

/** SkyRL writes these rows to `dumped_evals`. With `step_wise_trajectories`, a prompt continues the row before. */
export const skyrl = decodedRows({
  name: "skyrl",
  title: "dumped evaluations of SkyRL",
  companions: /(?:^|\/)aggregated_results\.jsonl$/,
  keys: { group: "the rows with the same prompt and ground truth" },
  prompt: "input_prompt",
  answer: "output_response",
  expected: ["env_extras", "reward_spec", "ground_truth"],
  rewardKey: "score",
  readReward: (run, row) => {
    const score = row.get("score");
    if (!score || score.canBeMetric) return score;
    const parts = score.items();
    if (!score.isList || parts.some(({ isNumber }) => !isNumber))
      throw score.error("score is neither a number nor a list of numbers");
    run.note("used the sum of the token rewards in `score` as the reward");
    const sum = parts.reduce((total, { number = 0 }) => total + number, 0);
    return literal(sum, score);
  },
  recognizes: (row) => row.has("score"),
  // Harbor's generator replaces the texts of failed rollouts by one token.
  findError: (row) => {
    const reason = row.get("stop_reason");
    const isFailed = reason?.text === "error" && row.textAt("input_prompt") === row.textAt("output_response");
    return isFailed ? reason : undefined;
  },
});

/** NeMo RL writes each row as a batch of one, so each value is a list of one. */
const unbatch = (value: Value | undefined) => {
  const [only, ...more] = value?.items() ?? [];
  return only && more.length === 0 ? only : value;
};

const requireTurns = (row: Value) => {
  const content = unbatch(row.require("content"));
  const turns = content?.items() ?? [];
  const faulty = turns.find((turn) => !turn.isText && turn.textAt("role") === undefined);
  if (!content || turns.length < 2) throw row.require("content").error("content is not a list of at least two turns");
  if (faulty) throw faulty.error("content contains a value that is neither a text nor a message");
  if (turns.every((turn) => (turn.text ?? turn.textAt("content")) === ""))
    throw content.error("all texts are empty, because NeMo Gym has them (read the rollouts of NeMo Gym)");
  return turns;
};

/** Returns the start and end of each answer in the tokens. Other tokens have the log probability 0. */
const findAnswers = (row: Value) => {
  const [mask, logprobs] = ["token_loss_mask", "generation_logprobs"].map(
    (key) => unbatch(row.get(key))?.items() ?? [],
  );
  const isOwn = mask?.map(({ number }) => number === 1) ?? [];
  const isSampled = [...(isOwn.length > 0 ? isOwn : (logprobs ?? []).map(({ number }) => number !== 0)), false];
  const starts = isSampled.flatMap((is, at) => (is && isSampled[at - 1] !== true ? at : []));
  const answers = starts.map((start) => [start, isSampled.indexOf(false, start)] as const);
  const length = Math.min(unbatch(row.get("input_lengths"))?.number ?? Number.POSITIVE_INFINITY, isSampled.length - 1);
  return { answers, isLastSampled: (answers.at(-1)?.[1] ?? -1) >= length };
};

/** The environment's text follows each answer that does not end the rollout. After a cut answer, it has no tokens. */
const countPromptTurns = (row: Value, turns: readonly Value[]) => {
  const firstAnswer = turns.findIndex((turn) => turn.textAt("role") === "assistant");
  if (firstAnswer >= 0) return firstAnswer;
  const { answers, isLastSampled } = findAnswers(row);
  const before = turns.length - 2 * answers.length || Number(isLastSampled);
  // Without a mask, tokens with the log probability 0 can hide answers.
  const mask = answers.length > 0 ? row.get("token_loss_mask") : undefined;
  if (answers.length > 0 && before >= 1 && (mask || before <= 2)) return before;
  if (mask) throw mask.error("token_loss_mask has more answers than the texts in content");
  return turns.length > 2 && turns.length % 2 === 0 ? 2 : 1;
};

/** Versions before 0.6 record no token ids. */
const readLogprobs = (row: Value, count: number) => {
  const [list, tokens] = [unbatch(row.get("generation_logprobs")), unbatch(row.get("token_ids"))];
  const { answers } = findAnswers(row);
  if (!list || !tokens || answers.length !== count) return [];
  const [allValues, allIds] = [list.items(), tokens.items()];
  return answers.map((range) => {
    const [values, ids] = [allValues.slice(...range), allIds.slice(...range)];
    return toLogprobs(list, ids, ids, values);
  });
};

const cutReason = "the answer left no tokens for the next text";

const readNemoTurns = (run: FormatRun, row: Value) => {
  const turns = requireTurns(row);
  const promptTurns = countPromptTurns(row, turns);
  if (turns.some(({ isText }) => isText))
    run.note("derived the roles, which are not recorded: each text of the assistant follows a text of the user");
  if (promptTurns === 2 && turns[0]?.isText)
    run.note("read the first of two texts of a prompt as a system prompt, because their roles are unknown");
  if (promptTurns > 2 && turns[0]?.isText)
    run.note("converted prompts of more than two texts to messages of the user, because their roles are unknown");
  const isAnswer = (turn: Value, at: number) => {
    const role = turn.textAt("role");
    return role === undefined ? at >= promptTurns && (at - promptTurns) % 2 === 0 : role === "assistant";
  };
  const count = turns.filter(isAnswer).length;
  const lastText = findAnswers(row).isLastSampled && turns.at(-1)?.text;
  const finish = openFinish(run, { record: row }, count);
  const logprobs = readLogprobs(row, count);
  let answers = 0;
  return turns.map((turn, at) => {
    const [recorded, content] = [turn.get("role"), turn.get("content") ?? turn];
    if (isAnswer(turn, at)) {
      const isCut = lastText && at === turns.length - 2;
      const reason = isCut ? addition("length", cutReason) : finish(answers, { callsTools: false });
      return choice({ role: recorded ?? "assistant", content: requireOwnWords(content) }, reason, logprobs[answers++]);
    }
    if (recorded) return { role: recorded.text === "environment" ? literal("user", recorded) : recorded, content };
    return { role: at === 0 && promptTurns === 2 ? "system" : "user", content };
  });
};

export const nemoRl = chatRows({
  name: "nemo-rl",
  title: "step files of NeMo RL",
  rewardKey: "rewards",
  usedKeys: ["content", "rewards", "filtered_rewards", "token_loss_mask"],
  keys: { sampled: "the texts of the assistant in `content`" },
  isDataset: false,
  filePattern: /(?:^|[./])(?:train|val)_data_step\d+\.jsonl$/,
  isLossy: true,
  recognizes: (row) => row.has("idx") && row.hasAny("rewards", "input_lengths") && unbatch(row.get("content"))?.isList,
  listMembers: (row) => row.members().map(([key, value]) => [key, unbatch(value) ?? value] as const),
  readPrompt: (row) => {
    const turns = requireTurns(row);
    return turns.slice(0, countPromptTurns(row, turns));
  },
  readTurns: readNemoTurns,
  readReward: (run, row) => {
    // With dynamic sampling, `rewards` has the rewards of the batch before it was filtered.
    const filtered = unbatch(row.get("filtered_rewards"));
    if (filtered) run.note("used `filtered_rewards` as the reward, because `rewards` belongs to other rows");
    const reward = filtered ?? unbatch(row.get("rewards"));
    if (reward?.canBeMetric === false) throw reward.error("the reward is not a list of one number");
    return reward;
  },
});
