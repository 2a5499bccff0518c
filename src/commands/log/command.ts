/** `rollcall log`: checks, plans and sends trajectories (interface 4.1). */
import { choice, command, count, flag, repeated, required, text, type Values, withExtra } from "../../cli/index.ts";
import { meterFormats } from "../../output/index.ts";
import { formatOptions, groupByOption, selectionOptions, splitOption, strictnessOptions } from "../inputs/options.ts";

const args = {
  "model-id": required(text("the model that the trajectories are of")),
  file: repeated("files of groups or trajectories, or their addresses; - or none is standard input"),
};

const stopOrSkip = ["stop", "skip"] as const;

const options = {
  split: splitOption,
  batch: text("tells equal groups of different steps apart", "name"),
  "group-by": groupByOption,
  "dry-run": flag("check and plan; send nothing"),
  body: {
    ...count("with --dry-run: write the nth body as it would be sent", { most: 1_000_000 }),
    needs: "dry-run",
  },
  ...withExtra(
    { group: "requests" },
    {
      "max-request-size": text("larger input is split between groups (32MiB)", "size"),
      "one-request": flag("refuse rather than split"),
      // More requests in flight only wait for each other.
      concurrency: count("requests in flight (1)", { most: 64 }),
      compress: choice("gzip or zstd: smaller requests (none)", ["none", "gzip", "zstd"], "form"),
      progress: choice("bar, lines, json or none", meterFormats, "form"),
    },
  ),
  ...withExtra(
    { group: "rejects" },
    {
      "on-invalid": choice("skip: send the valid groups, write the rest aside", stopOrSkip),
      "on-refused": choice("skip: the same for groups the service refuses", stopOrSkip),
      rejects: text("where rejected lines go (<file>.rejected)", "file"),
    },
  ),
  ...withExtra(
    { group: "ledger" },
    {
      "resend-logged": flag("send groups although they were logged"),
      ledger: text("what was logged is kept here, or at postgres://…", "file"),
      "no-ledger": flag("keep nothing: a rerun logs again"),
      "require-ledger": flag("refuse to start a new ledger"),
      "on-unknown": choice("after a request that may have been logged", ["stop", "resend", "leave"]),
      receipt: text("a JSON file of what became of every value of another tool's files", "file"),
    },
  ),
  ...withExtra(
    { group: "follow" },
    {
      follow: flag("go on with a file in rollcall's own shape that a run still writes, until Ctrl-C"),
      every: { ...text("the longest that a complete group waits (30s)", "duration"), needs: "follow" },
      "group-size": { ...count("trajectories of a complete group", { most: 1_000_000 }), needs: "follow" },
      "group-idle": { ...text("without a new one it is complete too (5m)", "duration"), needs: "follow" },
    },
  ),
  ...selectionOptions,
  ...formatOptions,
  ...strictnessOptions,
};

export type LogOptions = Values<typeof args & typeof options>;

export const log = command({
  words: "log",
  about: "check, plan and send trajectories",
  args,
  options,
  examples: [
    "rollcall log my-model groups.jsonl --split train --dry-run",
    `echo '{"messages_and_choices":[],"reward":1}' |\n    rollcall log my-model --split train --local`,
  ],
  run: async (context, typed) => await (await import("./run.ts")).log(context, typed),
});
