/** One run: argv and streams in, exit code out, and the one try/catch. */
import { flagsFrom, obey, readWords, screenFor, screenForWrong } from "./cli/index.ts";
import { type Context, openContext } from "./context.ts";
import { exitCodeOf, failureOf } from "./failure.ts";
import { type Host, openHost } from "./host.ts";
import { openScreen, printFailure, type Screen } from "./output/index.ts";
import { program } from "./program.ts";

/** Runs what the words of `node` ask for. Resolves with the exit code; never throws and never ends the process itself. */
export const run = async (node: NodeJS.Process): Promise<number> => {
  const host = openHost(node);
  const stray = strayErrors(node);
  try {
    return await runOn(host, node.argv.slice(2), stray.thrown);
  } finally {
    stray.close();
    host.close();
  }
};

/** Runs a command line on a host. Resolves with the exit code. If `stray` rejects, the run ends with that. */
export const runOn = async (
  host: Host,
  argv: readonly string[],
  stray = new Promise<never>(() => undefined),
): Promise<number> => {
  let screen: Screen | undefined;
  let context: Context | undefined;
  const work = async (): Promise<void> => {
    const typed = await readWords(program, argv);
    screen = openScreen({ host, words: screenForWrong(typed), argv });
    const answer = await obey(program, typed, (globals) => {
      screen = openScreen({ host, words: screenFor(globals, typed), argv });
      context = openContext({ host, screen, flags: flagsFrom(globals) });
      return context;
    });
    if (answer !== undefined) await screen.print([answer(screen.width)], { kind: "verbatim" });
  };
  try {
    await Promise.race([work(), stray]);
    await context?.close();
    await screen?.settled();
    return 0;
  } catch (thrown) {
    screen ??= openScreen({ host, words: screenForWrong({ given: new Map() }), argv });
    const failure = failureOf(thrown);
    const exitCode = exitCodeOf(failure);
    await printFailure(screen, { failure, exitCode });
    await context?.close().catch(() => undefined);
    return exitCode;
  }
};

/** Errors that nothing awaited: a defect, printed like any other. */
const strayErrors = (node: NodeJS.Process): { readonly thrown: Promise<never>; close(): void } => {
  let tell: (error: unknown) => void = () => undefined;
  const thrown = new Promise<never>((_, reject) => {
    tell = reject;
  });
  thrown.catch(() => undefined);
  node.once("uncaughtException", tell).once("unhandledRejection", tell);
  return { thrown, close: () => void node.off("uncaughtException", tell).off("unhandledRejection", tell) };
};
