import { command } from "../../cli/command.ts";
import { text, type Values } from "../../cli/kinds.ts";
import * as inputs from "../../session/options.ts";

const args = { file: inputs.trajectoryFiles };
const options = {
  split: text("data split, such as train", "name"),
  "group-by": inputs.groupByOption,
  report: inputs.reportOption,
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type CheckOptions = Values<typeof args & typeof options>;

export const check = command({
  words: "check",
  heading: "Judge rollouts, and use them elsewhere:",
  about: "check trajectories, compute metrics, send nothing",
  args,
  options,
  examples: ["rollcall check groups.jsonl", "rollcall check *.jsonl --split train --json"],
  run: async (context, typed) => await (await import("./run-check.ts")).check(context, typed),
});
