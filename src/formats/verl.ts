/** Rows of verl's `rollout_data_dir`, a file a step: `input`, `output`, `score`, and what the reward function says beside it. */
import { decodedRows } from "./decoded.ts";

export const verl = decodedRows({
  name: "verl",
  title: "rollouts of verl",
  prompt: "input",
  answer: "output",
  reward: "score",
  recognises: (row) => row.get("score")?.number !== undefined && (row.get("step") ?? row.get("gts")) !== undefined,
});
