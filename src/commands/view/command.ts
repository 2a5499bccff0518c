import { command } from "../../cli/command.ts";
import { flag, port, repeated, type Values } from "../../cli/kinds.ts";
import { formatOptions, groupByOption, outputFile, selectionOptions } from "../../session/options/input-options.ts";

const args = {
  file: repeated("files, folders or URLs of rollouts, or - for standard input (the default without --local)"),
};
const options = {
  "group-by": groupByOption,
  port: port("0"),
  html: outputFile("write the page to a file that needs no server"),
  "no-open": flag("print the URL, but open no browser"),
  ...selectionOptions,
  ...formatOptions,
};

export type ViewOptions = Values<typeof args & typeof options>;

export const view = command({
  words: "view",
  loadOutputs: () => import("./output.ts"),
  summary: "view rollouts in a browser",
  about: "view rollouts in a browser; --local without a file shows groups that were logged to the local service",
  args,
  options,
  examples: [
    "rollcall view groups.jsonl",
    "rollcall view rollouts/ --where 'reward > 0.5'",
    "rollcall view results.jsonl --port 8750 --no-open",
    "rollcall view groups.jsonl --sample 100 --html groups.html",
  ],
  run: async (context, typed) => await (await import("./run-view.ts")).view(context, typed),
});
