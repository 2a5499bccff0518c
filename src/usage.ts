/** Words that no command takes: what commander ends with, as a failure or as the help that was asked for. */
import type { Argument, Command, CommanderError, Option } from "commander";
import { Failure } from "./failure.ts";
import { nearest } from "./nearest.ts";

/** Commander's way of ending, with the command that it happened in. */
export class Stopped extends Error {
  readonly command: Command;
  readonly reason: CommanderError;
  constructor(command: Command, reason: CommanderError) {
    super(reason.code);
    this.command = command;
    this.reason = reason;
  }
}

/** Makes commander throw instead of exit, keeps what it would print, and has wrong choices told as all wrong values are. */
export const prepare = (command: Command, help: { text: string }): void => {
  command.exitOverride((reason) => {
    throw new Stopped(command, reason);
  });
  command.configureOutput({
    writeOut: (text) => {
      help.text += text;
    },
    writeErr: () => undefined,
  });
  for (const taker of [...command.options, ...command.registeredArguments]) tellChoices(taker);
  for (const child of command.commands) prepare(child, help);
};

/** Lets a value that is none of the choices end as `option-value-wrong`. */
const tellChoices = (taker: Option | Argument): void => {
  const { argChoices: choices, parseArg: parse } = taker;
  if (choices === undefined || parse === undefined) return;
  taker.argParser((value, previous) => {
    if (choices.includes(value)) return parse.call(taker, value, previous);
    const suggestion = nearest(value, choices);
    throw new Failure("option-value-wrong", {
      option: "flags" in taker ? (taker.long ?? taker.flags) : `<${taker.name()}>`,
      value,
      wanted: choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`,
      ...(suggestion === undefined ? {} : { suggestion }),
    });
  });
};

/** `help ledger status` as `ledger status --help`: commander looks at the first word alone. @throws Failure `words-wrong` */
export const helpMeant = (root: Command, argv: readonly string[]): readonly string[] => {
  if (argv[0] !== "help") return argv;
  const path: string[] = [];
  let command = root;
  for (const word of argv.slice(1).filter((one) => !one.startsWith("-") && one !== "help")) {
    // What stands behind a command that has no verbs is its arguments.
    if (command.commands.length === 0) break;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) throw commandUnknown(command, word);
    path.push(word);
    command = next;
  }
  return [...path, "--help"];
};

const commandUnknown = (command: Command, word: string): Failure => {
  const names = command.createHelp().visibleCommands(command);
  const meant = nearest(
    word,
    names.map((one) => one.name()),
  );
  const suggestion = meant === undefined ? undefined : `(Did you mean ${meant}?)`;
  return new Failure("words-wrong", { text: `unknown command '${word}'`, suggestion, command: pathOf(command) });
};

/** Help and the version are results where they were asked for, by `--help` or by no word at all. */
export const helpAskedFor = (thrown: unknown, { root, help }: { root: Command; help: string }): string | undefined => {
  if (!(thrown instanceof Stopped)) return undefined;
  if (thrown.reason.exitCode === 0) return help;
  return thrown.command === root && thrown.reason.code === "commander.help" ? root.helpInformation() : undefined;
};

/** Path of a command as it is typed. */
const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** What commander ended with, as a failure. */
export const usageFailure = ({ command, reason }: Stopped, argv: readonly string[]): Failure => {
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
  return new Failure("words-wrong", { text, suggestion: near, command: pathOf(command) });
};

/** An option without a value that was given one: what stands behind `--with-token=` may be a key, and is not printed. */
const valuedFlag = (command: Command, argv: readonly string[]): string | undefined => {
  const flags = [command, ...parentsOf(command)].flatMap(({ options }) => options.filter(({ required }) => !required));
  return flags.find(({ long }) => argv.some((word) => word.startsWith(`${long}=`)))?.long ?? undefined;
};

const parentsOf = ({ parent }: Command): readonly Command[] => (parent === null ? [] : [parent, ...parentsOf(parent)]);
