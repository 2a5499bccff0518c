/** Defines `rollcall call` (interface 4.3). */

import { command } from "../../cli/command.ts";
import * as cli from "../../cli/kinds.ts";

const args = {
  "call-id": cli.required(
    cli.repeated("call ids that a tracing library printed, URLs of calls, or - to read ids from standard input"),
  ),
};

const form = <One extends object>(kind: One, ...others: readonly string[]) => ({
  ...kind,
  conflicts: Object.fromEntries(others.map((other) => [other, "choose one of them"])),
});

const options = {
  path: form(
    cli.text("print one value of each call, such as output.choices[0]", "path", { completion: "columns" }),
    "as",
  ),
  as: cli.choice("format: trajectory (for `rollcall log`) or messages", ["trajectory", "messages"], "form"),
  reward: {
    ...cli.text("reward for --as trajectory", "number"),
    conflicts: { "reward-from": "a trajectory has one reward" },
  },
  "reward-from": cli.text("path of the reward in the call", "path", { default: "attributes.reward" }),
  list: {
    ...cli.flag("one line per call: status, operation, model, time, exception"),
    conflicts: {
      ...form({}, "path", "as").conflicts,
      costs: "a line has no costs",
      "storage-size": "a line has no sizes",
      "total-storage-size": "a line has no sizes",
    },
  },
  summary: form(
    cli.flag("totals by operation and model: calls, failures, durations, tokens, costs"),
    "list",
    "path",
    "as",
  ),
  ...cli.inGroup("filters", {
    failed: cli.flag("only failed calls (with --running, failed and running calls)"),
    running: cli.flag("only running calls"),
    op: cli.text("only calls of this operation, such as agent.*", "glob"),
    model: cli.text("only calls that used this model", "glob"),
  }),
  ...cli.inGroup("more data", {
    costs: cli.flag("cost of each call, by model"),
    "storage-size": cli.flag("stored size of each call"),
    "total-storage-size": cli.flag("stored size of the whole trace of each call"),
  }),
  ...cli.inGroup("show", {
    full: cli.flag("do not fold long texts on a terminal"),
    "no-content": cli.flag("omit inputs, outputs and other texts"),
  }),
  ...cli.inGroup("requests", { concurrency: cli.withDefault(cli.count("requests in flight", { max: 64 }), "8") }),
};

export type CallReadOptions = cli.Values<typeof args & typeof options>;

const examples = [
  "rollcall call read 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11 --costs",
  "rollcall call read - --failed --list < ids.txt",
  "rollcall ledger calls --local | rollcall call read - --summary --local",
];

export const call = command({
  words: "call",
  loadOutputs: () => import("./output.ts"),
  about: "read traced calls",
  examples,
  elsewhere: { list: "ledger calls" },
  subcommands: [
    command({
      words: "call read",
      about: "show one or more traced calls",
      args,
      options,
      examples,
      loadColumns: async (typed) => (await import("./forms.ts")).selectColumns(typed),
      run: async (context, typed) => (await import("./run-call.ts")).readCalls(context, typed),
    }),
  ],
});
