/** Rows of OpenRLHF's batch inference: `input`, `output` and the reward model's `reward`. */
import { decodedRows } from "./decoded.ts";

export const openrlhf = decodedRows({
  name: "openrlhf",
  title: "rows of OpenRLHF",
  prompt: "input",
  answer: "output",
  reward: "reward",
  recognises: (row) => row.get("reward")?.number !== undefined && row.get("score") === undefined,
});
