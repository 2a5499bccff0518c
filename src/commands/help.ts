/** How help is laid out: what a command is for, its options, examples, and where the rest is; on one screen. */
import type { Command } from "commander";

/** Adds lines that work when they are pasted to the end of a command's help. */
export const examples = (command: Command, lines: readonly string[]): Command =>
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
