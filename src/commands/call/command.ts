/** Defines `rollcall call` (interface 4.3). */

import { command } from "../../cli/command.ts";
import * as cli from "../../cli/kinds.ts";

const args = {
  "call-id": cli.required(
    cli.repeated("call ids that a tracing library printed, URLs of calls, or - to read ids from standard input"),
  ),
};

const options = {
  path: cli.text("print one value of each call, such as output.choices[0]", "path"),
  ...cli.inGroup("more data", {
    costs: cli.flag("cost of each call, by model"),
    "storage-size": cli.flag("stored size of each call"),
    "total-storage-size": cli.flag("stored size of the whole trace of each call"),
  }),
};

export type CallReadOptions = cli.Values<typeof args & typeof options>;

const examples = [
  "rollcall call read 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11 --costs",
  "rollcall call read - --path output.choices[0].message.content < ids.txt",
];

export const call = command({
  words: "call",
  about: "read traced calls",
  examples,
  subcommands: [
    command({
      words: "call read",
      about: "show one or more traced calls",
      args,
      options,
      examples,
      run: async (context, typed) => (await import("./run-call.ts")).readCalls(context, typed),
    }),
  ],
});
