import { command } from "../../cli/command.ts";
import { choice, text, type Values, withDefault } from "../../cli/kinds.ts";
import * as inputs from "../../session/options.ts";

const args = { file: inputs.rolloutFiles };
const options = {
  out: withDefault(text("output file, or - for standard output", "file"), "-"),
  "group-by": inputs.groupByOption,
  "on-invalid": withDefault(
    choice("stop, or write invalid groups to the rejects file and skip them", ["stop", "skip"]),
    "stop",
  ),
  rejects: inputs.rejectsOption,
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type ConvertOptions = Values<typeof args & typeof options>;

export const convert = command({
  words: "convert",
  about: "convert rollouts to groups",
  args,
  options,
  examples: ["rollcall convert results.jsonl --out groups.jsonl"],
  run: async (context, typed) => await (await import("./run-convert.ts")).convert(context, typed),
});
