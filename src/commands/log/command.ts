/** `rollcall log`: checks, plans and sends trajectories (interface 4.1). */
import { choice, command, count, flag, repeated, required, text, type Values, withExtra } from "../../cli/index.ts";
import { meterFormats } from "../../output/index.ts";
import { formatOptions, groupByOption, selectionOptions, splitOption, strictnessOptions } from "../inputs/options.ts";

const args = {
  "model-id": required(text("id of the model that produced the trajectories")),
  file: repeated("files, folders or URLs of groups or trajectories; stdin if - or omitted"),
};

const stopOrSkip = ["stop", "skip"] as const;

const options = {
  split: splitOption,
  batch: text("name of this step, such as step-17; equal groups of different steps are logged separately", "name"),
  "group-by": groupByOption,
  "dry-run": flag("check and plan requests, but send nothing"),
  body: {
    ...count("write the n-th request body of a dry run to stdout", { most: 1_000_000 }),
    needs: "dry-run",
  },
  ...withExtra(
    { group: "requests" },
    {
      "max-request-size": text("maximum size of a request (default: 32MiB)", "size"),
      "one-request": flag("fail if the input does not fit into one request"),
      concurrency: count("requests in flight (default: 1)", { most: 64 }),
      compress: choice("compression of requests: gzip, zstd or none (default: none)", ["none", "gzip", "zstd"], "form"),
      progress: choice("progress display: bar, lines, json or none", meterFormats, "form"),
    },
  ),
  ...withExtra(
    { group: "rejects" },
    {
      "on-invalid": choice(
        "action for invalid groups; skip writes them to the rejects file and sends the others (default: stop)",
        stopOrSkip,
      ),
      "on-refused": choice(
        "action for refused groups; skip writes them to the rejects file and sends the others (default: stop)",
        stopOrSkip,
      ),
      rejects: text("file for rejected groups (default: <file>.rejected)", "file"),
    },
  ),
  ...withExtra(
    { group: "ledger" },
    {
      "resend-logged": flag("send logged groups again"),
      ledger: text("ledger file, or postgres://…", "file"),
      "no-ledger": flag("do not record requests; a rerun logs everything again"),
      "require-ledger": flag("fail if the ledger does not exist"),
      "on-unknown": choice(
        "action for requests with an unknown outcome; leave sends only other groups (default: stop)",
        ["stop", "resend", "leave"],
      ),
      receipt: text("write a JSON report of how each input value was converted", "file"),
    },
  ),
  ...withExtra(
    { group: "follow" },
    {
      follow: flag("keep reading a growing file until Ctrl-C (rollcall's format only)"),
      every: { ...text("send complete groups at least this often (default: 30s)", "duration"), needs: "follow" },
      "group-size": { ...count("number of trajectories in a complete group", { most: 1_000_000 }), needs: "follow" },
      "group-idle": {
        ...text("complete a group after this long without new trajectories (default: 5m)", "duration"),
        needs: "follow",
      },
    },
  ),
  ...selectionOptions,
  ...formatOptions,
  ...strictnessOptions,
};

export type LogOptions = Values<typeof args & typeof options>;

export const log = command({
  words: "log",
  about: "check trajectories and send them",
  args,
  options,
  examples: [
    "rollcall log my-model groups.jsonl --split train --dry-run",
    `echo '{"messages_and_choices":[],"reward":1}' |\n    rollcall log my-model --split train --local`,
  ],
  run: async (context, typed) => await (await import("./run.ts")).log(context, typed),
});
