/** Converts the rows that verl writes to `rollout_data_dir`, which have decoded text. */
import { textChoice, toPromptTurn } from "../../conversation/apis/openai.ts";
import { literal } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { requireReward } from "./build-trajectory.ts";
import { chatRows } from "./chat-rows.ts";
import type { FormatRun } from "./format.ts";

const requireText = (row: Value, key: string) => {
  const value = row.require(key);
  if (!value.isText) throw value.error(`${key} is not a string`);
  return value;
};

const requirePrompt = (row: Value) => {
  const instruction = row.get("instruction");
  if (instruction?.isText) throw instruction.error("the prompt is in two columns, instruction and input");
  return requireText(row, "input");
};

/** Writers copy what the reward function returned over the row, also its own `score`, which has no penalties. */
const readReward = (run: FormatRun, row: Value) => {
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

const rolloutNumbers = /_\d+_\d+(?="$)/;

export const verl = chatRows({
  name: "verl",
  title: "rollouts of verl",
  rewardKey: "score",
  usedKeys: ["input", "output", "score"],
  keys: {
    group:
      "the rows with the same `step` and the same `uid` (without the numbers of the rollout and the output), or else the same prompt and `gts`",
    sampled: "the texts in `output`",
  },
  isDataset: false,
  isLossy: true,
  recognizes: (row, isGiven) =>
    row.get("input")?.isText &&
    row.get("output")?.isText &&
    (isGiven || (row.get("score")?.canBeMetric && row.hasAny("step", "gts"))),
  listTurns: (row) => {
    const { raw = "" } = row.get("uid") ?? {};
    const id = rolloutNumbers.test(raw) ? raw.replace(/_\d+"$/, "") : undefined;
    return { prompt: row.textAt("input") ?? "", sampled: row.textAt("output") ?? "", id };
  },
  // The expected answer tells prompts with unrecorded images apart.
  readPrompt: (row) => [requirePrompt(row), row.get("gts") ?? null],
  readTurns: (run, row) => {
    const answer = requireText(row, "output");
    return [toPromptTurn(requirePrompt(row)), textChoice(run, answer, { record: row })];
  },
  readReward,
  // In 0.8.0 and newer, a uid is `{prompt}_{rollout}_{output}`. Other rollouts of a prompt have the same uid.
  findGroup: (row) => row.get("uid")?.raw.replace(rolloutNumbers, ""),
});
