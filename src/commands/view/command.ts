import { command } from "../../cli/command.ts";
import { flag, port, type Values } from "../../cli/kinds.ts";
import * as inputs from "../../session/options.ts";

const args = { file: inputs.rolloutFiles };
const options = {
  "group-by": inputs.groupByOption,
  port: port("0"),
  html: inputs.outputFile("write the page to a file that needs no server"),
  "no-open": flag("print the URL, but open no browser"),
  ...inputs.formatOptions,
};

export type ViewOptions = Values<typeof args & typeof options>;

export const view = command({
  words: "view",
  about: "view rollouts in a browser",
  args,
  options,
  examples: [
    "rollcall view groups.jsonl",
    "rollcall view rollouts/",
    "rollcall view results.jsonl --port 8750 --no-open",
    "rollcall view groups.jsonl --html groups.html",
  ],
  run: async (context, typed) => await (await import("./run-view.ts")).view(context, typed),
});
