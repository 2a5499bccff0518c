/** The page of all commands, made of what the program says of itself. */
import type { Command } from "commander";
import { program } from "../../src/program.ts";
import { runRollcall } from "../run.ts";

/** Words that lead to a command, from the program's name on. */
export type CommandPath = readonly string[];

/** Every command, a noun before its verbs. */
export const commandPaths = (): readonly CommandPath[] => pathsBelow(commandTree(), []);

const commandTree = (): Command =>
  program(() => {
    throw new Error("no command is run here");
  });

const pathsBelow = (command: Command, above: CommandPath): readonly CommandPath[] => {
  const path = [...above, command.name()];
  const shown = command.createHelp().visibleCommands(command);
  return [path, ...command.commands.filter((one) => shown.includes(one)).flatMap((child) => pathsBelow(child, path))];
};

/** The page: each command's own help. */
export const commandsPage = async (): Promise<string> => {
  const sections: string[] = [];
  for (const path of commandPaths()) {
    const { stdout } = await runRollcall([...path.slice(1), "--help"]);
    sections.push(`## ${path.join(" ")}\n\n\`\`\`text\n${stdout.trimEnd()}\n\`\`\``);
  }
  return ["# Commands", "What `rollcall <command> --help` prints.", ...sections].join("\n\n").concat("\n");
};
