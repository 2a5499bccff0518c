/** Runs a command line. */
import { parseArgv, runCommand } from "./cli/argv.ts";
import { toGlobalFlags, toScreenOptions } from "./cli/globals.ts";
import { program } from "./commands/program.ts";
import { toExitCode, toFailure } from "./failure.ts";
import { openRunCleaner, Screen, type ScreenOptions } from "./output/screen.ts";
import { type Context, openContext } from "./session/context.ts";
import { readSavedSecrets } from "./settings/saved-files.ts";
import { type Host, openHost } from "./system/host.ts";

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
  const open = (options: ScreenOptions) => new Screen({ host, options }, openRunCleaner(host, readSavedSecrets(host)));
  let screen: Screen | undefined;
  let context: Context | undefined;
  const work = async () => {
    const parsed = await parseArgv(program, host.argv);
    const opened = open(toScreenOptions(parsed.globals));
    screen = opened;
    if (opened.isJson) host.ignoreWarnings();
    const formatText = await runCommand(program, parsed, (globals) => {
      context = openContext({ host, screen: opened, flags: toGlobalFlags(globals) });
      return context;
    });
    if (formatText) await opened.print([formatText(opened.width)], "redact-only");
  };
  try {
    await Promise.race([work(), stray]);
    await context?.close();
    await screen?.flushErrors();
    return 0;
  } catch (thrown) {
    screen ??= open({});
    const explained = await context?.explain(thrown).catch((defect: unknown) => defect);
    const failure = toFailure(explained ?? thrown);
    await (await import("./output/print-failure.ts")).printFailure(screen, failure);
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
