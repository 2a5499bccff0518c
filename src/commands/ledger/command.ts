/** Defines `rollcall ledger` (guarantees.md). */
import { command } from "../../cli/command.ts";
import { custom, flag, repeated, required, text, type Values } from "../../cli/kinds.ts";
import { formatOptions, groupByOption, ledgerOption } from "../../session/options/input-options.ts";
import { limitOption } from "../../session/options/list-options.ts";
import { parseTime } from "../../text/units.ts";

const locationOptions = {
  ledger: ledgerOption,
  "all-destinations": flag("include the requests to all URLs and accounts"),
};

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

const forgetOptions = {
  ...locationOptions,
  ...filterOptions,
  before: custom(
    "requests whose last attempt was before this time, such as 30d (30 days ago) or 2026-01-31",
    "time",
    parseTime,
  ),
  yes: flag("do not ask for confirmation"),
};

const callOptions = {
  ...locationOptions,
  ...filterOptions,
  since: custom("calls logged since this time, such as 1d, yesterday or 2026-11-01; days are UTC", "time", parseTime),
  until: custom("calls logged before this time", "time", parseTime),
  limit: limitOption,
};

export type LocationOptions = Values<typeof locationOptions>;
export type FileOptions = Values<typeof fileOptions> & { file: readonly string[] };
export type ResolveOptions = Values<typeof resolveOptions> & { id: readonly string[] };
export type ForgetOptions = Values<typeof forgetOptions>;
export type CallsOptions = Values<typeof callOptions>;

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
    command({
      words: "ledger forget",
      about: "delete requests with a known outcome from the ledger, so that a rerun logs their groups again",
      options: forgetOptions,
      examples: ["rollcall ledger forget --before 90d", "rollcall ledger forget --model my-model --batch step-17"],
      run: async (context, typed) => await (await loadRun()).forgetRequests(context, typed),
    }),
    command({
      words: "ledger calls",
      about: "print the call ids that the local service returned for logged groups",
      options: callOptions,
      examples: ["rollcall ledger calls --since 1d --local"],
      run: async (context, typed) => await (await loadRun()).listCalls(context, typed),
    }),
  ],
});
