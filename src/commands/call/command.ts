/** `rollcall call`: traced calls of a project (interface 4.3). */
import { choice, command, count, flag, repeated, required, text, type Values, withExtra } from "../../cli/index.ts";

const args = {
  "call-id": required(repeated("ids of calls; - takes them from standard input: a line, or the id of a JSON line")),
};

const options = {
  path: text("print one value as it is, such as output.choices[0]", "path"),
  as: choice(
    "print calls as trajectory (for log), messages or markdown",
    ["trajectory", "messages", "markdown"],
    "form",
  ),
  reward: text("the reward of such a trajectory", "number"),
  "reward-from": text("where in the call it stands (attributes.reward)", "path"),
  list: flag("a line a call: how it stands, its operation, model, time, and what it failed with"),
  summary: flag("count calls, failures, durations, tokens, costs by op and model"),
  wait: flag("follow running calls to their end, at most --max-wait"),
  ...withExtra(
    { group: "of the calls named" },
    {
      failed: flag("only those that failed; with --running, those too"),
      running: flag("only those that still run"),
      op: text("only those of such an operation, such as agent.*", "glob"),
      model: text("only those that used such a model", "glob"),
    },
  ),
  ...withExtra(
    { group: "also ask for" },
    {
      costs: flag("ask for the costs too"),
      "storage-size": flag("ask for the size of each call too"),
      "total-storage-size": flag("ask for the size of each call's whole trace too"),
    },
  ),
  ...withExtra(
    { group: "show" },
    {
      full: flag("long texts whole, also on a terminal"),
      "no-content": flag("leave out what people and models wrote"),
    },
  ),
  ...withExtra({ group: "requests" }, { concurrency: count("calls read at the same time (8)", { most: 64 }) }),
};

/** What was typed for `call read`. */
export type CallReadOptions = Values<typeof args & typeof options>;

const examples = [
  "rollcall call read 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11 --costs",
  "rollcall ledger calls --since 1d | rollcall call read - --costs --summary",
  "rollcall ledger calls --since 1d | rollcall call read - --failed --list",
];

/** `call` and its verb. */
export const call = command({
  words: "call",
  about: "read traced calls",
  examples,
  verbs: [
    command({
      words: "call read",
      about: "show one or more traced calls",
      args,
      options,
      examples,
      run: async (context, typed) => await (await import("./run.ts")).run(context, typed),
    }),
  ],
});
