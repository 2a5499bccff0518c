/** Rows of SkyRL's `dumped_evals`, a file for each source of data: `input_prompt`, `output_response` and `score`. */
import { said } from "./built.ts";
import { decodedRows } from "./decoded.ts";
import { Unfit } from "./format.ts";

export const skyrl = decodedRows({
  name: "skyrl",
  title: "dumped evaluations of SkyRL",
  prompt: "input_prompt",
  answer: "output_response",
  reward: "score",
  rewardOf: (run, row, group) => {
    const score = row.get("score");
    if (score === undefined || score.number !== undefined) return score;
    const parts = score.items().map(({ number }) => number);
    const sum = parts.reduce<number | undefined>(
      (total, part) => (total === undefined || part === undefined ? undefined : total + part),
      0,
    );
    if (!score.isList || sum === undefined)
      throw new Unfit("score is neither a number nor a list of them", score, group);
    run.note("score is a list of rewards, one for each token: their sum is the reward");
    return said(sum, score);
  },
  finish: (row) => {
    const reason = row.get("stop_reason");
    return reason?.text === "stop" || reason?.text === "length" || reason?.text === "tool_calls" ? reason : undefined;
  },
  recognises: (row) => row.get("score") !== undefined,
  left: { env_extras: "the trajectory's metadata holds no nested values" },
});
