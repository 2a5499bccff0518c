/** Does what was typed: prints a help or the version, or runs a command. */

import { version } from "../../package.json" with { type: "json" };
import type { Context } from "../context.ts";
import type { Failure } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import type { Program } from "./command.ts";
import { type Globals, globals } from "./globals.ts";
import { screenHelp, wholeHelp } from "./help.ts";
import { readKinds } from "./kinds.ts";
import type { Typed } from "./words.ts";

/** A text, laid out for so many columns. */
type Answer = (columns: number) => string;

/**
 * Does what was typed. Resolves with the text that was asked for, if it is a help or the version.
 * @param start opens the context of the run, once the global options are known
 * @throws Failure what the command ends with; `words-wrong`, `verb-missing`, `option-value-wrong`, `option-needs`
 */
export const obey = async (
  program: Program,
  typed: Typed,
  start: (globals: Globals) => Context,
): Promise<Answer | undefined> => {
  const { command, above, given, operands, help, check } = typed;
  check();
  if (help === "screen") return (columns) => screenHelp(command, columns);
  if (help === "whole") return (columns) => wholeHelp(command, above, columns);
  if (given.has("version")) return () => `${version}\n`;
  const options = { typed: (name: string) => given.get(name) ?? [], nameOf: (name: string) => `--${name}` };
  const context = start(readKinds(globals, options));
  const names = Object.keys(command.args);
  const args = readKinds(command.args, {
    typed: (name) => {
      const at = names.indexOf(name);
      return command.args[name]?.repeatable === true ? operands.slice(at) : operands.slice(at, at + 1);
    },
    nameOf: (name) => `<${name}>`,
  });
  const own = readKinds({ ...command.options, ...command.above }, options);
  await command.run?.(context, { ...args, ...own }, program);
  return undefined;
};

/** The failure for two options that exclude each other. */
export const contradiction = (first: string, second: string, why: string): Failure =>
  optionsContradict({ first, second, why });
