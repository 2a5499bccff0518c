import { choice, command, flag, text, type Values, withDefault } from "../../cli/index.ts";
import * as inputs from "../../options/input-options.ts";

const args = { file: inputs.rolloutFiles };
const options = {
  out: withDefault(text("file for the groups, or - for standard output", "file"), "-"),
  receipt: inputs.receiptOption,
  exact: flag("fail if a value of the input is left out or changed, or if a last finish_reason is not recorded"),
  "group-by": inputs.groupByOption,
  "on-invalid": withDefault(
    choice(
      "stop: write nothing if a group is invalid; skip: write invalid groups to the rejects file, and convert the others",
      ["stop", "skip"],
    ),
    "stop",
  ),
  rejects: inputs.rejectsOption,
  ...inputs.selectionOptions,
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type ConvertOptions = Values<typeof args & typeof options>;

export const convert = command({
  words: "convert",
  loadOutputs: () => import("./output.ts"),
  hasSideEffects: true,
  about: "convert other tools' rollouts to groups",
  args,
  options,
  examples: [
    "rollcall convert results.jsonl --out groups.jsonl --receipt receipt.json",
    "rollcall convert runs/ --exact | rollcall check",
  ],
  run: async (context, typed) => await (await import("./run-convert.ts")).convert(context, typed),
});
