/** Lists the commands. */
import { command, type Program } from "../cli/command.ts";
import { globalOptions } from "../cli/globals.ts";

/** Lists the commands in the order of the help. */
export const program: Program = {
  root: command({
    words: "",
    about: "Log trajectories, list models, read traced calls, browse two catalogs of models.",
    options: globalOptions,
    examples: ["rollcall log my-model groups.jsonl --split train"],
  }),
  /** Imported only if needed, because importing all commands takes longer than most runs. */
  nouns: {
    log: async () => (await import("./log/command.ts")).log,
    models: async () => (await import("./catalog/command.ts")).models,
    call: async () => (await import("./call/command.ts")).call,
    catalog: async () => (await import("./catalog/command.ts")).catalog,
    check: async () => (await import("./check/command.ts")).check,
    stats: async () => (await import("./stats/command.ts")).stats,
    compare: async () => (await import("./compare/command.ts")).compare,
    convert: async () => (await import("./convert/command.ts")).convert,
    view: async () => (await import("./view/command.ts")).view,
    ledger: async () => (await import("./ledger/command.ts")).ledger,
    auth: async () => (await import("./auth.ts")).auth,
    config: async () => (await import("./config.ts")).config,
    serve: async () => (await import("./serve.ts")).serve,
    profile: async () => (await import("./config.ts")).profile,
    completion: async () => (await import("./completion/command.ts")).completion,
  },
  hidden: { __complete: async () => (await import("./completion/command.ts")).complete },
};
