/** The paths of all commands. */
import { listCommands, loadTree } from "../../../src/cli/command.ts";
import { program } from "../../../src/commands/program.ts";

/** Words that lead to a command, from the program's name on. */
export type CommandPath = readonly string[];

const commands = listCommands(await loadTree(program));

/** Every command, a noun before its verbs. */
export const commandPaths = (): readonly CommandPath[] =>
  commands.map(({ words }) => ["rollcall", ...words.split(" ").filter((word) => word !== "")]);
