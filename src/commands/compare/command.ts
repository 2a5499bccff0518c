import * as cli from "../../cli/index.ts";
import * as inputs from "../../session/options/input-options.ts";
import { limitOption } from "../../session/options/list-options.ts";

const file = { completion: "files" } as const;
const args = {
  a: cli.required(cli.text("file, folder or URL of the first run", "file", file)),
  b: cli.text("the run that is compared with the first (default with --where-a or --where-b: the first)", "file", file),
};
const options = {
  "group-by": inputs.groupByOption,
  "pair-by": cli.text("pair trajectories by this key instead of by their prompts", "key", { forAgents: true }),
  ...inputs.solvedOptions,
  ...inputs.statisticsOptions,
  limit: cli.withDefault(limitOption, "10"),
  ...cli.inGroup("exit code", {
    "exit-code": cli.flag("exit with 10 if the mean reward of the second run is lower"),
    ...cli.needing("exit-code", {
      "min-effect": cli.withDefault(inputs.effectOption("smallest loss of reward that matters, such as 0.02"), "0"),
    }),
  }),
  report: inputs.reportOption,
  where: inputs.selectionOptions.where,
  "where-a": cli.text("like --where, but only for <a>", "expression", { needsWholeFile: true }),
  "where-b": cli.text("like --where, but only for <b>", "expression", { needsWholeFile: true }),
  best: inputs.selectionOptions.best,
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type CompareOptions = cli.Values<typeof args & typeof options>;

export const compare = cli.command({
  words: "compare",
  loadOutputs: () => import("./output.ts"),
  about: "compare two runs, prompt by prompt",
  args,
  options,
  examples: [
    "rollcall compare step-100.jsonl step-200.jsonl",
    "rollcall compare run.jsonl --where-a 'step == 2' --where-b 'step == 3'",
    "rollcall compare main.jsonl branch.jsonl --exit-code --min-effect 0.02",
  ],
  run: async (context, typed) => await (await import("./run-compare.ts")).printComparison(context, typed),
});
