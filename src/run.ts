/** One run: argv and streams in, exit code out, and the one try/catch. */
import type { Ahead } from "./ahead.ts";
import { type Context, globalFlags, openContext, type Start, type TypedOptions } from "./context.ts";
import { exitCodeOf } from "./exit-codes.ts";
import { Failure } from "./failure.ts";
import { openHost } from "./host.ts";
import { openScreen, printFailure, screenWords, screenWordsOf } from "./output/index.ts";
import { helpAskedFor, helpMeant, prepare, Stopped, usageFailure } from "./usage.ts";

/** Runs what the words of `node` ask for. Resolves with the exit code; never throws and never ends the process itself. */
export const run = async (node: NodeJS.Process, ahead: Ahead): Promise<number> => {
  const host = openHost(node, ahead);
  const argv = node.argv.slice(2);
  // Until the words are understood, the screen is what they look like: a usage error with --json is JSON too.
  let screen = openScreen({ host, words: screenWordsOf(argv) });
  let context: Context | undefined;
  const start: Start = (command) => {
    const typed: TypedOptions = command.optsWithGlobals();
    screen = openScreen({ host, words: screenWords(typed) });
    context = openContext({ host, screen, flags: globalFlags(typed) });
    return context;
  };
  const fail = async (thrown: unknown): Promise<number> => {
    const failure = failureOf(thrown, argv);
    await printFailure(screen, { failure, exitCode: exitCodeOf(failure) });
    return exitCodeOf(failure);
  };
  const obey = async (): Promise<void> => {
    const root = await (await import("./program.ts")).program(start, argv);
    const help = { text: "" };
    prepare(root, help);
    try {
      await root.parseAsync([...helpMeant(root, argv)], { from: "user" });
    } catch (thrown) {
      const text = helpAskedFor(thrown, { root, help: help.text });
      if (text === undefined) throw thrown;
      await screen.text(text);
    }
  };
  const stray = strayErrors(node);
  try {
    await Promise.race([obey(), stray.thrown]);
    await context?.close();
    return 0;
  } catch (thrown) {
    const code = await fail(thrown);
    await context?.close().catch(() => undefined);
    return code;
  } finally {
    stray.close();
    host.close();
  }
};

/** Errors that nobody awaited: a defect too, and told like any other. */
const strayErrors = (node: NodeJS.Process): { readonly thrown: Promise<never>; close(): void } => {
  let tell: (error: unknown) => void = () => undefined;
  const thrown = new Promise<never>((_, reject) => {
    tell = reject;
  });
  thrown.catch(() => undefined);
  node.once("uncaughtException", tell).once("unhandledRejection", tell);
  return { thrown, close: () => void node.off("uncaughtException", tell).off("unhandledRejection", tell) };
};

/** Whatever was thrown, as a failure. */
const failureOf = (thrown: unknown, argv: readonly string[]): Failure => {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof Stopped) return usageFailure(thrown, argv);
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new Failure("defect", { text: error.message, stack: error.stack }, { cause: error });
};
