/** `rollcall check`: the same checks and metrics as `log`, offline. */
import { command, several, type Values } from "../../cli/index.ts";
import { choosing, foreign, groupBy, judging, report, split } from "../inputs/options.ts";

const args = { file: several("files of groups or trajectories, or their addresses; - or none is standard input") };

const options = {
  split,
  "group-by": groupBy,
  against: several("no group may stand in this file of another split", "file"),
  report,
  ...choosing,
  ...foreign,
  ...judging,
};

export type TypedCheck = Values<typeof args & typeof options>;

export const check = command({
  words: "check",
  about: "check trajectories, compute metrics, offline",
  args,
  options,
  examples: ["rollcall check groups.jsonl", "rollcall check *.jsonl --split train --json"],
  run: async (context, typed) => await (await import("./run.ts")).check(context, typed),
});
