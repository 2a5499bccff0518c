/** The page of all commands, made of what the program says of itself. */
import type { Command } from "commander";
import { program } from "../../../src/program.ts";
import { runRollcall } from "../../support/run.ts";

/** Words that lead to a command, from the program's name on. */
export type CommandPath = readonly string[];

/** Every command, a noun before its verbs. */
export const commandPaths = (): readonly CommandPath[] => pathsBelow(commandTree, []);

const commandTree: Command = await program(() => {
  throw new Error("no command is run here");
});

const pathsBelow = (command: Command, above: CommandPath): readonly CommandPath[] => {
  const path = [...above, command.name()];
  const shown = command.createHelp().visibleCommands(command);
  return [path, ...command.commands.filter((one) => shown.includes(one)).flatMap((child) => pathsBelow(child, path))];
};

/** The page: each command's own help; the options that all have stand in that of the program. */
export const commandsPage = async (): Promise<string> => {
  const sections: string[] = [];
  for (const path of commandPaths()) {
    const { stdout } = await runRollcall([...path.slice(1), "--help"]);
    const [own = ""] = stdout.split("\n\nGlobal options:\n");
    sections.push(`## ${path.join(" ")}\n\n\`\`\`text\n${own.trimEnd()}\n\`\`\``);
  }
  return [
    "# Commands",
    "What `rollcall <command> --help` prints, without the global options, which each of them ends with.",
    ...sections,
  ]
    .join("\n\n")
    .concat("\n");
};
