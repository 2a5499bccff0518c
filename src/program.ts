/** The program: its global options, and its commands in the order of the help. */
import { type Command, command, globals, type Program } from "./cli/index.ts";

/** Nouns that serve other programs or describe rollcall itself are only named in the help, so that it is one screen. */
const more = (load: () => Promise<Command>) => async (): Promise<Command> => ({ ...(await load()), group: "more" });

/** rollcall. A noun is loaded if it is typed: all of them would take longer than most commands do. */
export const program: Program = {
  root: command({
    words: "",
    about: "Log trajectories to a training service, list its models, read traced calls.",
    options: globals,
    examples: ["rollcall catalog router kimi --local"],
  }),
  nouns: {
    log: async () => (await import("./commands/log/command.ts")).log,
    check: async () => (await import("./commands/check/command.ts")).check,
    convert: async () => (await import("./commands/convert/command.ts")).convert,
    view: async () => (await import("./commands/view/command.ts")).view,
    ledger: async () => (await import("./commands/ledger/command.ts")).ledger,
    models: async () => (await import("./commands/models/command.ts")).models,
    call: async () => (await import("./commands/call/command.ts")).call,
    catalog: async () => (await import("./commands/catalog/command.ts")).catalog,
    auth: async () => (await import("./commands/auth.ts")).auth,
    config: async () => (await import("./commands/config.ts")).config,
    serve: async () => (await import("./commands/serve/command.ts")).serve,
    profile: more(async () => (await import("./commands/profile.ts")).profile),
    mcp: more(async () => (await import("./commands/mcp/command.ts")).mcp),
    doctor: more(async () => (await import("./commands/doctor/command.ts")).doctor),
    commands: more(async () => (await import("./commands/commands.ts")).commands),
    explain: more(async () => (await import("./commands/explain/command.ts")).explain),
    schema: more(async () => (await import("./commands/schema/command.ts")).schema),
    completion: more(async () => (await import("./commands/completion/command.ts")).completion),
    __complete: async () => (await import("./commands/completion/command.ts")).complete,
  },
};
