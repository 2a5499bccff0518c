import * as cli from "../../cli/index.ts";
import { invalidOptionValue } from "../../failures.ts";
import * as inputs from "../../options/input-options.ts";
import { orderOptions } from "../../options/list-options.ts";

const parseReward = (word: string, option: string) => {
  const reward = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(word) ? Number(word) : Number.NaN;
  if (Number.isFinite(reward)) return reward;
  throw invalidOptionValue(option, word, "a number such as 1 or 0.5");
};

const maxTries = 1_000_000;
const defaultTries: readonly number[] = [1, 2, 4, 8];

const parseTries = (word: string, option: string) =>
  cli.splitAtCommas(word).map((item) => {
    const tries = /^[1-9]\d{0,6}$/.test(item) ? Number(item) : 0;
    if (tries >= 1 && tries <= maxTries) return tries;
    throw invalidOptionValue(option, word, "whole numbers such as 1,2,4,8 (at most 1000000)");
  });

const args = { file: inputs.trajectoryFiles };
const options = {
  "group-by": inputs.groupByOption,
  by: cli.text(
    "also one result for each value of this key of the trajectories, or for each file with --by file",
    "key",
    { forAgents: true },
  ),
  pass: cli.withDefault(
    cli.custom("reward from which a trajectory is solved", "reward", parseReward, { forAgents: true }),
    "1",
  ),
  k: cli.list("numbers of tries of pass@k", "numbers", parseTries, {
    default: String(defaultTries),
    forAgents: true,
  }),
  each: {
    ...cli.choice("print a row for each group or trajectory", ["group", "trajectory"]),
    conflicts: { by: "a row has no result for other rows" },
  },
  ...cli.needing("each", orderOptions),
  ...inputs.selectionOptions,
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type StatsCommandOptions = cli.Values<typeof args & typeof options>;

export const stats = cli.command({
  words: "stats",
  loadOutputs: () => import("./output.ts"),
  about: "show rewards, pass@k, lengths and tools of rollouts",
  args,
  options,
  examples: [
    "rollcall stats groups.jsonl",
    "rollcall stats step-*.jsonl --by file",
    "rollcall stats groups.jsonl --each trajectory --sort -reward --limit 10",
  ],
  run: async (context, typed) => {
    const tries = typed.k.length === 0 ? defaultTries : typed.k;
    await (await import("./run-stats.ts")).printStats(context, { ...typed, k: tries });
  },
});
