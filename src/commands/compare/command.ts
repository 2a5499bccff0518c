import { command } from "../../cli/command.ts";
import { flag, inGroup, needing, required, text, type Values, withDefault } from "../../cli/kinds.ts";
import * as inputs from "../../session/options.ts";

const args = {
  a: required(text("file or folder of the first run", "file")),
  b: required(text("file or folder of the run that is compared with the first", "file")),
};
const options = {
  "group-by": inputs.groupByOption,
  "pair-by": text("pair by this key instead of by the prompts", "key"),
  ...inGroup("exit code", {
    "exit-code": flag("exit with 10 if the mean reward of the second run is lower"),
    ...needing("exit-code", {
      "min-effect": withDefault(inputs.effectOption("smallest loss of reward that matters, such as 0.02"), "0"),
    }),
  }),
  ...inputs.solvedOptions,
  ...inputs.statisticsOptions,
  limit: withDefault(inputs.limitOption, "10"),
  report: inputs.reportOption,
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type CompareOptions = Values<typeof args & typeof options>;

export const compare = command({
  words: "compare",
  about: "compare two runs, prompt by prompt",
  args,
  options,
  examples: [
    "rollcall compare step-100.jsonl step-200.jsonl",
    "rollcall compare main.jsonl branch.jsonl --exit-code --min-effect 0.02",
  ],
  run: async (context, typed) => await (await import("./run-compare.ts")).printComparison(context, typed),
});
