import { command } from "../../cli/command.ts";
import { choice, needing, text, type Values } from "../../cli/kinds.ts";
import * as inputs from "../../session/options.ts";

const args = { file: inputs.trajectoryFiles };
const options = {
  "group-by": inputs.groupByOption,
  by: text("also one result for each value of this key of the trajectories, or for each file with --by file", "key"),
  ...inputs.solvedOptions,
  ...inputs.statisticsOptions,
  each: {
    ...choice("print a row for each group or trajectory", ["group", "trajectory"]),
    conflicts: { by: "a row has no result for other rows" },
  },
  ...needing("each|by", inputs.orderOptions),
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type StatsCommandOptions = Values<typeof args & typeof options>;

export const stats = command({
  words: "stats",
  about: "show rewards, pass@k, lengths and tools of rollouts",
  args,
  options,
  examples: [
    "rollcall stats groups.jsonl",
    "rollcall stats step-*.jsonl --by file",
    "rollcall stats run.jsonl --by step --sort -reward.mean",
    "rollcall stats groups.jsonl --each trajectory --sort -reward --limit 10",
  ],
  run: async (context, typed) => await (await import("./run-stats.ts")).printStats(context, typed),
});
