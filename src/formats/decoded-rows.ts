/** Rows of decoded text, whose special tokens are lost: OpenRLHF, verl, SkyRL and NeMo RL. */
import { said } from "./built.ts";
import { type ChatRows, chatRows, isTurns } from "./chat-rows.ts";
import { type Format, why } from "./format.ts";
import { sampledText, userTurn } from "./messages.ts";
import { needed, neededItems, Unfit, type Value } from "./value.ts";

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
    throw new Unfit(
      "content is no list of a prompt and what follows it: nobody can say where the prompt ends",
      content,
    );
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
