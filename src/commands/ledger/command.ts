/** Defines `rollcall ledger` (guarantees.md). */
import { command } from "../../cli/command.ts";
import { flag, repeated, required, text, type Values } from "../../cli/kinds.ts";
import { formatOptions, groupByOption, ledgerOption } from "../../session/options.ts";

const locationOptions = { ledger: ledgerOption };

const filterOptions = {
  model: text("only requests of this model", "id"),
  split: text("only requests of this split", "name"),
  batch: text("only requests of this batch", "name"),
};

const fileOptions = {
  ...locationOptions,
  ...filterOptions,
  "group-by": { ...groupByOption, about: "same keys as for log" },
  ...formatOptions,
};

const files = repeated("same files or folders as for log");

const resolveOptions = {
  ...locationOptions,
  "assume-logged": {
    ...flag("mark the requests as logged, so that later runs skip their groups"),
    conflicts: { resend: "a request was either logged or not" },
  },
  resend: flag("mark the requests as not logged, so that the next run sends their groups"),
};

export type LocationOptions = Values<typeof locationOptions>;
export type FileOptions = Values<typeof fileOptions> & { file: readonly string[] };
export type ResolveOptions = Values<typeof resolveOptions> & { id: readonly string[] };

const loadRun = () => import("./run-ledger.ts");

export const ledger = command({
  words: "ledger",
  heading: "Keep track, and set up:",
  about: "show, verify and resolve recorded requests",
  examples: ["rollcall ledger status", "rollcall ledger verify groups.jsonl"],
  subcommands: [
    command({
      words: "ledger status",
      about: "list the requests in the ledger (with files, only the requests that contain groups of these files)",
      args: { file: files },
      options: fileOptions,
      examples: ["rollcall ledger status", "rollcall ledger status groups.jsonl --json"],
      run: async (context, typed) => await (await loadRun()).showStatus(context, typed),
    }),
    command({
      words: "ledger resolve",
      about: "resolve requests with an unknown outcome",
      args: { id: required(repeated("request ids from ledger status")) },
      options: resolveOptions,
      examples: ["rollcall ledger resolve r12 --assume-logged", "rollcall ledger resolve r12 r13 --resend"],
      run: async (context, typed) => await (await loadRun()).resolveRequests(context, typed),
    }),
    command({
      words: "ledger verify",
      about: "verify that every group in the files was logged exactly once",
      args: { file: required(files) },
      options: fileOptions,
      examples: ["rollcall ledger verify groups.jsonl --model my-model", "rollcall ledger verify runs/rollouts"],
      run: async (context, typed) => await (await loadRun()).verifyGroups(context, typed),
    }),
  ],
});
