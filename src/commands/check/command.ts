/** `rollcall check`: the same checks and metrics as `log`, offline. */
import { command, repeated, type Values } from "../../cli/index.ts";
import {
  formatOptions,
  groupByOption,
  reportOption,
  selectionOptions,
  splitOption,
  strictnessOptions,
} from "../inputs/options.ts";

const args = { file: repeated("files of groups or trajectories, or their addresses; - or none is standard input") };

const options = {
  split: splitOption,
  "group-by": groupByOption,
  against: repeated("no group may stand in this file of another split", "file"),
  report: reportOption,
  ...selectionOptions,
  ...formatOptions,
  ...strictnessOptions,
};

export type CheckOptions = Values<typeof args & typeof options>;

export const check = command({
  words: "check",
  about: "check trajectories, compute metrics, offline",
  args,
  options,
  examples: ["rollcall check groups.jsonl", "rollcall check *.jsonl --split train --json"],
  run: async (context, typed) => await (await import("./run.ts")).check(context, typed),
});
