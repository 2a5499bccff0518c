/** `rollcall view`: looks at rollouts in a browser. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { choosingOptions } from "../convert/choosing.ts";
import { foreignOptions } from "../convert/foreign.ts";
import { examples } from "../help.ts";
import type { TypedView } from "./read.ts";

/** Declares `view`. */
export const declareView = (parent: Command, start: Start): void => {
  const command = parent
    .command("view")
    .summary("look at rollouts in a browser")
    .description(
      "look at rollouts in a browser, offline: groups by their rewards, trajectories as conversations; --local without files: what was logged to the local service; ends with Ctrl-C",
    )
    .argument("[file...]", "files or folders of rollouts, or their addresses; - or none is standard input")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .option("--port <number>", "the port to listen on; 0 is any free one", "0")
    .option("--html <file>", "write the page to a file that needs no server, and open nothing")
    .option("--no-open", "print the address, and open no browser")
    .action(
      async (files: string[], typed: TypedView, own: Command) =>
        await (await import("./run.ts")).view(start(own), { files, typed }),
    );
  choosingOptions(command.optionsGroup("choosing"));
  foreignOptions(command.optionsGroup("formats"));
  examples(command, [
    "rollcall view groups.jsonl",
    "rollcall view rollouts/ --where 'reward > 0.5'",
    "rollcall view results.jsonl --port 8750 --no-open",
    "rollcall view groups.jsonl --sample 100 --html groups.html",
  ]);
};
