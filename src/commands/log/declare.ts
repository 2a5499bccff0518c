/** `rollcall log`: checks, plans and sends trajectories. */
import { type Command, Option } from "commander";
import type { Start } from "../../context.ts";
import { meterForms } from "../../output/index.ts";
import { choosingOptions } from "../convert/choosing.ts";
import { foreignOptions } from "../convert/foreign.ts";
import { examples } from "../help.ts";
import { judgingOptions } from "./judging.ts";
import type { TypedLog } from "./options.ts";

const stopOrSkip = ["stop", "skip"];

/** Declares `log` (interface 4.1). */
export const declareLog = (parent: Command, start: Start): void => {
  const command = parent
    .command("log")
    .description("check, plan and send trajectories")
    .argument("<model-id>", "the model that the trajectories are of")
    .argument("[file...]", "files of groups or trajectories, or their addresses; - or none is standard input")
    .option("--split <name>", "the data split that they belong to, such as train")
    .option("--batch <name>", "tells equal groups of different steps apart")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .option("--dry-run", "check and plan; send nothing")
    .option("--body <n>", "with --dry-run: write the nth body as it would be sent")
    .optionsGroup("requests")
    .option("--max-request-size <size>", "larger input is split between groups (32MiB)")
    .option("--one-request", "refuse rather than split")
    .option("--concurrency <n>", "requests in flight (1)")
    .addOption(
      new Option("--compress <form>", "gzip or zstd: smaller requests (none)").choices(["none", "gzip", "zstd"]),
    )
    .addOption(new Option("--progress <form>", "bar, lines, json or none").choices(meterForms))
    .optionsGroup("rejects")
    .addOption(
      new Option("--on-invalid <stop|skip>", "skip: send the valid groups, write the rest aside").choices(stopOrSkip),
    )
    .addOption(
      new Option("--on-refused <stop|skip>", "skip: the same for groups the service refuses").choices(stopOrSkip),
    )
    .option("--rejects <file>", "where rejected lines go (<file>.rejected)")
    .optionsGroup("ledger")
    .option("--resend-logged", "send groups although they were logged")
    .option("--ledger <file>", "what was logged is kept here, or at postgres://…")
    .option("--no-ledger", "keep nothing: a rerun logs again")
    .option("--require-ledger", "refuse to start a new ledger")
    .addOption(
      new Option("--on-unknown <stop|resend|leave>", "after a request that may have been logged").choices([
        "stop",
        "resend",
        "leave",
      ]),
    )
    .option("--receipt <file>", "a JSON file of what became of every value of another tool's files")
    .optionsGroup("follow")
    .option("--follow", "go on with a file in rollcall's own shape that a run still writes, until Ctrl-C")
    .option("--every <duration>", "the longest that a complete group waits (30s)")
    .option("--group-size <n>", "trajectories of a complete group")
    .option("--group-idle <duration>", "without a new one it is complete too (5m)")
    .action(
      async (modelId: string, files: string[], typed: TypedLog, own: Command) =>
        await (await import("./run.ts")).log(start(own), { modelId, files, typed }),
    );
  choosingOptions(command.optionsGroup("choosing"));
  foreignOptions(command.optionsGroup("formats"));
  judgingOptions(command.optionsGroup("checks"));
  examples(command, [
    "rollcall log my-model groups.jsonl --split train --dry-run",
    `echo '{"messages_and_choices":[],"reward":1}' |\n    rollcall log my-model --split train --local`,
  ]);
};
