/** `rollcall call`: traced calls of a project. */
import { type Command, Option } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";
import type { TypedRead } from "./options.ts";

/** Declares `call read` (interface 4.3). */
export const declareCall = (parent: Command, start: Start): void => {
  const group = parent.command("call").description("read traced calls");
  const command = readOptions(
    group
      .command("read")
      .description("show one or more traced calls")
      .argument("<call-id...>", "ids of calls; - takes them from standard input: a line, or the id of a JSON line"),
  ).action(async (words: string[], typed: TypedRead, own: Command) => {
    await (await import("./run.ts")).run(start(own), words, typed);
  });
  const lines = [
    "rollcall call read 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11 --costs",
    "rollcall ledger calls --since 1d | rollcall call read - --costs --summary",
    "rollcall ledger calls --since 1d | rollcall call read - --failed --list",
  ];
  examples(group, lines);
  examples(command, lines);
};

const readOptions = (command: Command): Command =>
  command
    .option("--path <path>", "print one value as it is, such as output.choices[0]")
    .addOption(
      new Option("--as <form>", "print calls as trajectory (for log), messages or markdown").choices([
        "trajectory",
        "messages",
        "markdown",
      ]),
    )
    .option("--reward <number>", "the reward of such a trajectory")
    .option("--reward-from <path>", "where in the call it stands (attributes.reward)")
    .option("--list", "a line a call: how it stands, its operation, model, time, and what it failed with")
    .option("--summary", "count calls, failures, durations, tokens, costs by op and model")
    .option("--wait", "follow running calls to their end, at most --max-wait")
    .optionsGroup("of the calls named")
    .option("--failed", "only those that failed; with --running, those too")
    .option("--running", "only those that still run")
    .option("--op <glob>", "only those of such an operation, such as agent.*")
    .option("--model <glob>", "only those that used such a model")
    .optionsGroup("also ask for")
    .option("--costs", "ask for the costs too")
    .option("--storage-size", "ask for the size of each call too")
    .option("--total-storage-size", "ask for the size of each call's whole trace too")
    .optionsGroup("show")
    .option("--full", "long texts whole, also on a terminal")
    .option("--no-content", "leave out what people and models wrote")
    .optionsGroup("requests")
    .option("--concurrency <n>", "calls read at the same time (8)");
