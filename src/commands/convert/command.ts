/** `rollcall convert`: other tools' rollouts → groups of trajectories, with a receipt. */
import { choice, command, flag, repeated, text, type Values, withDefault } from "../../cli/index.ts";
import { formatOptions, groupByOption, selectionOptions, strictnessOptions } from "../inputs/options.ts";

const args = { file: repeated("files or folders of rollouts, or their addresses; - or none is standard input") };

const options = {
  out: withDefault(text("where the groups go; - is standard output", "file"), "-"),
  receipt: text("a JSON file of what became of every value", "file"),
  exact: flag("fail where a value has no place"),
  "group-by": groupByOption,
  "on-invalid": choice("skip: write the valid groups, and the rest aside", ["stop", "skip"]),
  rejects: text("where rejected records go (<file>.rejected)", "file"),
  ...selectionOptions,
  ...formatOptions,
  ...strictnessOptions,
};

export type ConvertOptions = Values<typeof args & typeof options>;

export const convert = command({
  words: "convert",
  about: "make trajectories of other tools' rollouts, offline",
  args,
  options,
  examples: [
    "rollcall convert results.jsonl --out groups.jsonl --receipt receipt.json",
    "rollcall convert runs/ --exact | rollcall check",
  ],
  run: async (context, typed) => await (await import("./run.ts")).convert(context, typed),
});
