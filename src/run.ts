/** Runs a command line, and lists the commands in the order of the help. */
import * as cli from "./cli/index.ts";
import { type Context, openContext } from "./context.ts";
import { toExitCode, toFailure } from "./failure.ts";
import { type Host, openHost } from "./host.ts";
import { isJsonFormat, loadFailurePrinter, openRunCleaner, openScreen, type Screen } from "./output/index.ts";
import { readSavedSecrets } from "./settings/saved-files.ts";

/** Returns the exit code. Never throws, and never ends the process. */
export const run = async (node: NodeJS.Process) => {
  const host = openHost(node);
  const stray = catchStrayErrors(node);
  try {
    return await runCommandLine(host, stray.thrown);
  } finally {
    stray.close();
    host.close();
  }
};

/** @param stray a promise that ends the run if it rejects */
export const runCommandLine = async (host: Host, stray = new Promise<never>(() => undefined)) => {
  const openCleaner = () => openRunCleaner(host, readSavedSecrets(host));
  let screen: Screen | undefined;
  let context: Context | undefined;
  const work = async () => {
    const parsed = await cli.parseArgv(program, host.argv);
    screen = openScreen({ host, options: cli.toScreenOptions(parsed) }, openCleaner());
    const formatText = await cli.runCommand(program, parsed, async (globals) => {
      const options = cli.toScreenOptions(parsed, globals);
      const { words, hasSideEffects } = parsed.command;
      const areFieldsChecked = hasSideEffects && isJsonFormat(options.format);
      if (areFieldsChecked && options.fields)
        (await import("./commands/schema/outputs.ts")).checkFields(words, options.fields);
      screen = openScreen({ host, options: { ...options, areFieldsChecked } }, screen?.cleaner ?? openCleaner());
      context = openContext({ host, screen, flags: cli.toGlobalFlags(globals) });
      return context;
    });
    if (formatText) await screen.print([formatText(screen.width)], "redact-only");
  };
  try {
    await Promise.race([work(), stray]);
    await context?.close();
    await screen?.flushErrors();
    return 0;
  } catch (thrown) {
    screen ??= openScreen({ host, options: cli.toScreenOptions({ given: new Map() }) }, openCleaner());
    const explained = await context?.explain(thrown).catch((defect: unknown) => defect);
    const failure = toFailure(explained ?? thrown);
    await (await loadFailurePrinter()).printFailure(screen, failure);
    await context?.close().catch(() => undefined);
    return toExitCode(failure);
  }
};

const catchStrayErrors = (node: NodeJS.Process) => {
  let rethrow: (error: unknown) => void = () => undefined;
  const thrown = new Promise<never>((_, reject) => {
    rethrow = reject;
  });
  thrown.catch(() => undefined);
  node.once("uncaughtException", rethrow).once("unhandledRejection", rethrow);
  return { thrown, close: () => node.off("uncaughtException", rethrow).off("unhandledRejection", rethrow) };
};

export const program: cli.Program = {
  root: cli.command({
    words: "",
    about: "Log trajectories to a training service, list its models, and read traced calls.",
    options: cli.globalOptions,
    examples: ["rollcall check groups.jsonl", "rollcall log my-model groups.jsonl --split train"],
  }),
  /** Imported only if needed, because importing all commands takes longer than most runs. */
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
    serve: async () => (await import("./commands/serve.ts")).serve,
    profile: async () => (await import("./commands/profile.ts")).profile,
    mcp: async () => (await import("./commands/mcp/command.ts")).mcp,
    doctor: async () => (await import("./commands/doctor/command.ts")).doctor,
    commands: async () => (await import("./commands/commands.ts")).commands,
    explain: async () => (await import("./commands/explain/command.ts")).explain,
    schema: async () => (await import("./commands/schema/command.ts")).schema,
    completion: async () => (await import("./commands/completion/command.ts")).completion,
  },
  hidden: { __complete: async () => (await import("./commands/completion/command.ts")).complete },
};
