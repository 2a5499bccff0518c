/** `rollcall ledger`: what was logged, and what is not known to have been. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { choosingOptions } from "../convert/choosing.ts";
import { foreignOptions } from "../convert/foreign.ts";
import { type DeclareVerb, examples, verbsIn } from "../help.ts";
import type { TypedLedger } from "./run.ts";

/** Declares `ledger` and its verbs (promises.md, "What the ledger promises"). */
export const declareLedger = (parent: Command, start: Start): void => {
  const ledger = parent.command("ledger").description("see and settle what was logged");
  examples(ledger, ["rollcall ledger status", "rollcall ledger verify groups.jsonl"]);
  const verb: DeclareVerb = (...said) =>
    verbsIn(ledger)(...said)
      .option("--ledger <file>", "the ledger's file, or postgres://…")
      .option("--all-destinations", "of every service, store and account, and not only the one in force");
  const filtered = (command: Command): Command =>
    command
      .option("--model <id>", "only of this model")
      .option("--split <name>", "only of this split")
      .option("--batch <name>", "only of this batch");
  /** What makes groups of files, as it was given to `log`. */
  const withFiles = (command: Command): Command => {
    const grouped = filtered(command).option("--group-by <key>", "as it was given to log");
    return choosingOptions(foreignOptions(grouped.optionsGroup("formats")).optionsGroup("choosing"));
  };
  withFiles(
    verb("status", "list the requests of the ledger, or those that hold groups of files", [
      "rollcall ledger status",
      "rollcall ledger status groups.jsonl --json",
    ]),
  )
    .argument("[file...]", "files or folders as they were given to log")
    .action(
      async (files: string[], typed: TypedLedger, own: Command) =>
        await (await verbs()).showStatus(start(own), { files, typed }),
    );
  verb("resolve", "settle requests whose outcome is unknown", [
    "rollcall ledger resolve r12 --assume-logged",
    "rollcall ledger resolve r12 r13 --resend",
  ])
    .argument("<id...>", "requests, as ledger status names them")
    .option("--assume-logged", "they were logged: never send them again")
    .option("--resend", "they were not: the next run sends their groups")
    .action(
      async (ids: string[], typed: TypedLedger, own: Command) =>
        await (await verbs()).resolve(start(own), { ids, typed }),
    );
  withFiles(
    verb("verify", "exit 0 only where every group of the files was logged exactly once", [
      "rollcall ledger verify groups.jsonl --model my-model",
      "rollcall ledger verify runs/rollouts",
    ]),
  )
    .argument("<file...>", "files or folders as they were given to log")
    .action(
      async (files: string[], typed: TypedLedger, own: Command) =>
        await (await verbs()).verify(start(own), { files, typed }),
    );
  filtered(
    verb("forget", "take settled requests out of the ledger: a rerun then logs them again", [
      "rollcall ledger forget --before 90d",
      "rollcall ledger forget --model my-model --batch step-17",
    ]),
  )
    .option("--before <time>", "only those last tried before, such as 30d")
    .option("--yes", "without being asked")
    .action(async (typed: TypedLedger, own: Command) => await (await verbs()).forget(start(own), typed));
  filtered(
    verb("calls", "print the ids of the calls that the service's answers named", ["rollcall ledger calls --since 1d"]),
  )
    .option("--since <time>", "only those logged since, such as 1d, yesterday or 2026-11-01")
    .option("--until <time>", "only those logged before")
    .option("--limit <n>", "only the first of them")
    .action(async (typed: TypedLedger, own: Command) => await (await verbs()).listCalls(start(own), typed));
};

/** What the verbs do is loaded with the first of them. */
const verbs = () => import("./run.ts");
