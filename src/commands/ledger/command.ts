/** `rollcall ledger`: what was logged, and what is not known to have been (guarantees.md). */
import { command, flag, required, several, text, type Values } from "../../cli/index.ts";
import { choosing, foreign } from "../inputs/options.ts";
import { limit, moment } from "../lists/options.ts";

const place = {
  ledger: text("the ledger's file, or postgres://…", "file"),
  "all-destinations": flag("of every service, store and account, and not only the one in force"),
};

const filters = {
  model: text("only of this model", "id"),
  split: text("only of this split", "name"),
  batch: text("only of this batch", "name"),
};

/** What makes groups of files, as it was given to `log`. */
const withFiles = { ...place, ...filters, "group-by": text("as it was given to log", "key"), ...foreign, ...choosing };

const files = several("files or folders as they were given to log");

const resolveOptions = {
  ...place,
  "assume-logged": flag("they were logged: never send them again"),
  resend: flag("they were not: the next run sends their groups"),
};

const forgetOptions = {
  ...place,
  ...filters,
  before: moment("only those last tried before, such as 30d"),
  yes: flag("without being asked"),
};

const callOptions = {
  ...place,
  ...filters,
  since: moment("only those logged since, such as 1d, yesterday or 2026-11-01"),
  until: moment("only those logged before"),
  limit,
};

export type TypedPlace = Values<typeof place>;
export type TypedFiles = Values<typeof withFiles> & { readonly file: readonly string[] };
export type TypedResolve = Values<typeof resolveOptions> & { readonly id: readonly string[] };
export type TypedForget = Values<typeof forgetOptions>;
export type TypedCalls = Values<typeof callOptions>;

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
      options: withFiles,
      examples: ["rollcall ledger status", "rollcall ledger status groups.jsonl --json"],
      run: async (context, typed) => await (await verbs()).showStatus(context, typed),
    }),
    command({
      words: "ledger resolve",
      about: "settle requests whose outcome is unknown",
      args: { id: required(several("requests, as ledger status names them")) },
      options: resolveOptions,
      examples: ["rollcall ledger resolve r12 --assume-logged", "rollcall ledger resolve r12 r13 --resend"],
      run: async (context, typed) => await (await verbs()).resolve(context, typed),
    }),
    command({
      words: "ledger verify",
      about: "exit 0 only where every group of the files was logged exactly once",
      args: { file: required(files) },
      options: withFiles,
      examples: ["rollcall ledger verify groups.jsonl --model my-model", "rollcall ledger verify runs/rollouts"],
      run: async (context, typed) => await (await verbs()).verify(context, typed),
    }),
    command({
      words: "ledger forget",
      about: "take settled requests out of the ledger: a rerun then logs them again",
      options: forgetOptions,
      examples: ["rollcall ledger forget --before 90d", "rollcall ledger forget --model my-model --batch step-17"],
      run: async (context, typed) => await (await verbs()).forget(context, typed),
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
