/** `rollcall ledger`: what was logged, and what is not known to have been (guarantees.md). */
import { command, flag, repeated, required, text, type Values } from "../../cli/index.ts";
import { formatOptions, selectionOptions } from "../inputs/options.ts";
import { limitOption, timeOption } from "../lists/options.ts";

const locationOptions = {
  ledger: text("the ledger's file, or postgres://…", "file"),
  "all-destinations": flag("of every service, store and account, and not only the one in force"),
};

const filterOptions = {
  model: text("only of this model", "id"),
  split: text("only of this split", "name"),
  batch: text("only of this batch", "name"),
};

/** What makes groups of files, as it was given to `log`. */
const fileOptions = {
  ...locationOptions,
  ...filterOptions,
  "group-by": text("as it was given to log", "key"),
  ...formatOptions,
  ...selectionOptions,
};

const files = repeated("files or folders as they were given to log");

const resolveOptions = {
  ...locationOptions,
  "assume-logged": flag("they were logged: never send them again"),
  resend: flag("they were not: the next run sends their groups"),
};

const forgetOptions = {
  ...locationOptions,
  ...filterOptions,
  before: timeOption("only those last tried before, such as 30d"),
  yes: flag("without being asked"),
};

const callOptions = {
  ...locationOptions,
  ...filterOptions,
  since: timeOption("only those logged since, such as 1d, yesterday or 2026-11-01"),
  until: timeOption("only those logged before"),
  limit: limitOption,
};

export type LocationOptions = Values<typeof locationOptions>;
export type FileOptions = Values<typeof fileOptions> & { readonly file: readonly string[] };
export type ResolveOptions = Values<typeof resolveOptions> & { readonly id: readonly string[] };
export type ForgetOptions = Values<typeof forgetOptions>;
export type CallsOptions = Values<typeof callOptions>;

/** The runs are loaded with the first of them. */
const verbs = () => import("./run.ts");

export const ledger = command({
  words: "ledger",
  about: "see and settle what was logged",
  examples: ["rollcall ledger status", "rollcall ledger verify groups.jsonl"],
  verbs: [
    command({
      words: "ledger status",
      about: "list the requests of the ledger, or those that hold groups of files",
      args: { file: files },
      options: fileOptions,
      examples: ["rollcall ledger status", "rollcall ledger status groups.jsonl --json"],
      run: async (context, typed) => await (await verbs()).showStatus(context, typed),
    }),
    command({
      words: "ledger resolve",
      about: "settle requests whose outcome is unknown",
      args: { id: required(repeated("requests, as ledger status names them")) },
      options: resolveOptions,
      examples: ["rollcall ledger resolve r12 --assume-logged", "rollcall ledger resolve r12 r13 --resend"],
      run: async (context, typed) => await (await verbs()).resolveRequests(context, typed),
    }),
    command({
      words: "ledger verify",
      about: "exit 0 only where every group of the files was logged exactly once",
      args: { file: required(files) },
      options: fileOptions,
      examples: ["rollcall ledger verify groups.jsonl --model my-model", "rollcall ledger verify runs/rollouts"],
      run: async (context, typed) => await (await verbs()).verifyGroups(context, typed),
    }),
    command({
      words: "ledger forget",
      about: "take settled requests out of the ledger: a rerun then logs them again",
      options: forgetOptions,
      examples: ["rollcall ledger forget --before 90d", "rollcall ledger forget --model my-model --batch step-17"],
      run: async (context, typed) => await (await verbs()).forgetRequests(context, typed),
    }),
    command({
      words: "ledger calls",
      about: "print the ids of the calls that the service's answers named",
      options: callOptions,
      examples: ["rollcall ledger calls --since 1d"],
      run: async (context, typed) => await (await verbs()).listCalls(context, typed),
    }),
  ],
});
