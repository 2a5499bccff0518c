/** `rollcall convert`: other tools' rollouts → groups of trajectories, with a receipt. */
import { choice, command, flag, repeated, text, type Values, withDefault } from "../../cli/index.ts";
import { formatOptions, groupByOption, selectionOptions, strictnessOptions } from "../inputs/options.ts";

const args = { file: repeated("files, folders or URLs of rollouts; - or none is stdin") };

const options = {
  out: withDefault(text("file for the groups; - is stdout", "file"), "-"),
  receipt: text("write a JSON report of how each input value was converted", "file"),
  exact: flag("fail if a value has no place in a trajectory"),
  "group-by": groupByOption,
  "on-invalid": choice("skip: write valid groups, and invalid ones to the rejects file", ["stop", "skip"]),
  rejects: text("rejects file (default: <file>.rejected)", "file"),
  ...selectionOptions,
  ...formatOptions,
  ...strictnessOptions,
};

export type ConvertOptions = Values<typeof args & typeof options>;

export const convert = command({
  words: "convert",
  about: "convert rollouts of other tools to trajectories, offline",
  args,
  options,
  examples: [
    "rollcall convert results.jsonl --out groups.jsonl --receipt receipt.json",
    "rollcall convert runs/ --exact | rollcall check",
  ],
  run: async (context, typed) => await (await import("./run.ts")).convert(context, typed),
});
