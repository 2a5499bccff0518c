/** argv and streams in, exit code out: the one try/catch, and the exit-code table. */
import type { Command, CommanderError } from "commander";
import { version } from "../package.json" with { type: "json" };
import { type Context, globalFlags, openContext, openHost, type Start, type TypedOptions } from "./context.ts";
import { Failure, type FailureCode, isFailure } from "./failure.ts";
import { nearest } from "./nearest.ts";
import { openScreen, screenWords, screenWordsOf } from "./output/index.ts";

/** The exit-code table (cli.md, "Exit codes"). */
export const exitCodes = {
  internal: 1,
  usage: 2,
  invalid_input: 3,
  auth: 4,
  unavailable: 5,
  refused: 6,
  partial: 7,
  unknown_outcome: 8,
  not_found: 9,
  differs: 10,
  storage: 11,
  interrupted: { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 },
} as const satisfies Record<FailureCode, unknown>;

/** The exit code of a run that ended with a failure. */
export const exitCodeOf = (failure: Failure): number => {
  if (isFailure(failure, "interrupted")) return exitCodes.interrupted[failure.data.signal];
  const code = exitCodes[failure.code];
  return typeof code === "number" ? code : exitCodes.internal;
};

/** Commander's way of ending, with the command that it happened in. */
class Stopped extends Error {
  readonly command: Command;
  readonly reason: CommanderError;
  constructor(command: Command, reason: CommanderError) {
    super(reason.code);
    this.command = command;
    this.reason = reason;
  }
}

/** Runs rollcall. Resolves with the exit code; never throws and never ends the process itself. */
export const main = async (process: NodeJS.Process): Promise<number> => {
  const host = openHost(process);
  const argv = process.argv.slice(2);
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
    await screen.failure({ failure, exitCode: exitCodeOf(failure) });
    return exitCodeOf(failure);
  };
  const run = async (): Promise<void> => {
    if (asksVersion(argv)) return await screen.text(`${version}\n`);
    const root = (await import("./program.ts")).program(start);
    const help = { text: "" };
    prepare(root, help);
    try {
      await root.parseAsync(argv, { from: "user" });
    } catch (thrown) {
      const text = helpAskedFor(thrown, { root, help: help.text });
      if (text === undefined) throw thrown;
      await screen.text(text);
    }
  };
  const stray = strayErrors(process);
  try {
    await Promise.race([run(), stray.thrown]);
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

/** What scripts ask for most, alone: it is answered before the command tree is loaded, in half of the time. */
const asksVersion = ([word, ...others]: readonly string[]): boolean =>
  others.length === 0 && (word === "--version" || word === "-V");

/** Errors that nobody awaited: a defect too, and told like any other. */
const strayErrors = (process: NodeJS.Process): { readonly thrown: Promise<never>; close(): void } => {
  let tell: (error: unknown) => void = () => undefined;
  const thrown = new Promise<never>((_, reject) => {
    tell = reject;
  });
  thrown.catch(() => undefined);
  process.once("uncaughtException", tell).once("unhandledRejection", tell);
  return { thrown, close: () => void process.off("uncaughtException", tell).off("unhandledRejection", tell) };
};

/** Makes commander throw instead of exit, and keeps what it would print. */
const prepare = (command: Command, help: { text: string }): void => {
  command.exitOverride((reason) => {
    throw new Stopped(command, reason);
  });
  command.configureOutput({
    writeOut: (text) => {
      help.text += text;
    },
    writeErr: () => undefined,
  });
  for (const child of command.commands) prepare(child, help);
};

/** Help and the version are results where they were asked for, by `--help` or by no word at all. */
const helpAskedFor = (thrown: unknown, { root, help }: { root: Command; help: string }): string | undefined => {
  if (!(thrown instanceof Stopped)) return undefined;
  if (thrown.reason.exitCode === 0) return help;
  return thrown.command === root && thrown.reason.code === "commander.help" ? root.helpInformation() : undefined;
};

/** Path of a command as it is typed. */
const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** Whatever was thrown, as a failure. */
const failureOf = (thrown: unknown, argv: readonly string[]): Failure => {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof Stopped) return usageFailure(thrown, argv);
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new Failure("defect", { text: error.message, stack: error.stack }, { cause: error });
};

const usageFailure = ({ command, reason }: Stopped, argv: readonly string[]): Failure => {
  if (reason.code === "commander.help") {
    const verbs = command.commands.map((verb) => verb.name());
    return new Failure("verb-missing", { command: pathOf(command), verbs, help: command.helpInformation() });
  }
  const [, text = "", near] = /^(?:error: )?(.*?)(?:\n(\(Did you mean [^\n]*\)))?$/s.exec(reason.message) ?? [];
  const valued = reason.code === "commander.unknownOption" ? valuedFlag(command, argv) : undefined;
  if (valued !== undefined) {
    return new Failure("words-wrong", {
      text: `${valued} takes no value`,
      suggestion: undefined,
      command: pathOf(command),
    });
  }
  const suggestion = near ?? (reason.code === "commander.invalidArgument" ? choiceMeant(command) : undefined);
  return new Failure("words-wrong", { text, suggestion, command: pathOf(command) });
};

/** An option without a value that was given one: what stands behind `--with-token=` may be a key, and is not printed. */
const valuedFlag = (command: Command, argv: readonly string[]): string | undefined => {
  const flags = [command, ...parentsOf(command)].flatMap(({ options }) => options.filter(({ required }) => !required));
  return flags.find(({ long }) => argv.some((word) => word.startsWith(`${long}=`)))?.long ?? undefined;
};

const parentsOf = ({ parent }: Command): readonly Command[] => (parent === null ? [] : [parent, ...parentsOf(parent)]);

/** The choice near to an argument that is none of its choices. */
const choiceMeant = (command: Command): string | undefined => {
  const meant = command.registeredArguments.flatMap(({ argChoices = [] }, at) => {
    const typed = command.args[at];
    return typed === undefined || argChoices.length === 0 || argChoices.includes(typed)
      ? []
      : (nearest(typed, argChoices) ?? []);
  });
  return meant[0] === undefined ? undefined : `(Did you mean ${meant[0]}?)`;
};
