/** Defines `rollcall log` (interface 4.1). */

import { command } from "../../cli/command.ts";
import * as cli from "../../cli/kinds.ts";
import * as inputs from "../../session/options.ts";
import { parseDuration } from "../../text/units.ts";

const args = {
  "model-id": cli.required(cli.text("id of the model that produced the trajectories", "id")),
  file: inputs.trajectoryFiles,
};

/** `--follow` has its own check of `--from`. */
const wholeFileOptions = Object.keys(inputs.formatOptions).filter((name) => name !== "from");

const options = {
  split: cli.text("data split, such as train (required unless the settings or the input contain it)", "name"),
  batch: cli.text(
    "name of the training step, such as step-17. Groups with the same content are logged once per batch",
    "name",
  ),
  "group-by": inputs.groupByOption,
  "dry-run": cli.flag("check and plan requests, but send nothing"),
  ...cli.inGroup("requests", {
    "max-request-size": cli.text("maximum size of a request; a larger group gets its own request", "size", {
      default: "32MiB",
    }),
    concurrency: cli.withDefault(cli.count("requests in flight", { max: 64 }), "1"),
  }),
  ...cli.inGroup("rejects", {
    "on-invalid": cli.withDefault(
      cli.choice(
        "stop: send nothing if a group is invalid; skip: write invalid groups to the rejects file, and send the others",
        ["stop", "skip"],
      ),
      "stop",
    ),
    rejects: inputs.rejectsOption,
  }),
  ...cli.inGroup("ledger", {
    "resend-logged": cli.flag("send logged groups again"),
    ledger: inputs.ledgerOption,
    "no-ledger": {
      ...cli.flag("do not record requests, so a rerun logs everything again"),
      conflicts: {
        ledger: "--no-ledger uses no ledger",
        "require-ledger": "--no-ledger uses no ledger, but --require-ledger requires one",
        "new-ledger": "--no-ledger uses no ledger",
      },
    },
    "require-ledger": {
      ...cli.flag("fail if the ledger does not exist"),
      conflicts: { "new-ledger": "--require-ledger needs an existing ledger" },
    },
    "new-ledger": cli.flag("start the ledger in PostgreSQL if it does not exist"),
    "on-unknown": cli.withDefault(
      cli.choice(
        "stop: end the run when the outcome of a request becomes unknown; resend: send each request with an unknown outcome again, including requests of earlier runs",
        ["stop", "resend"],
      ),
      "stop",
    ),
  }),
  ...cli.inGroup("follow", {
    follow: {
      ...cli.flag("keep reading a growing file until Ctrl-C (rollcall's format only)"),
      conflicts: {
        "dry-run": "a dry run needs a complete file",
        ...Object.fromEntries(wholeFileOptions.map((name) => [name, `--${name} needs a complete file`])),
      },
    },
    ...cli.needing("follow", {
      every: cli.withDefault(cli.custom("send complete groups at least this often", "duration", parseDuration), "30s"),
      "group-size": cli.count("number of trajectories in a complete group", { max: 1_000_000 }),
      "group-idle": cli.withDefault(
        cli.custom("treat a group as complete if it gets no new trajectory for this time", "duration", parseDuration),
        "5m",
      ),
    }),
  }),
  ...inputs.formatOptions,
  ...inputs.strictnessOptions,
};

export type LogOptions = cli.Values<typeof args & typeof options>;

export const log = command({
  words: "log",
  about: "check trajectories and send them",
  args,
  options,
  usual: {
    "model-id": "id of the model",
    file: "files, folders, or - for a pipe",
    split: "data split, such as train (required)",
    batch: "training step, such as step-17",
    "group-by": "group by this key, such as prompt_id",
    "dry-run": "check and plan, but send nothing",
    from: "format, if rollcall does not recognize it",
    "reward-from": "path of the reward in a record",
    "on-invalid": "skip: send only the valid groups",
    "on-unknown": "resend: repeat requests that may be logged",
    concurrency: "requests in flight (default: 1)",
    follow: "send a growing file until Ctrl-C",
    strict: "treat warnings as errors",
  },
  examples: [
    "rollcall log my-model groups.jsonl --split train --dry-run",
    "rollcall convert results.jsonl | rollcall log my-model --split train",
  ],
  run: async (context, typed) => await (await import("./run-log.ts")).log(context, typed),
});
