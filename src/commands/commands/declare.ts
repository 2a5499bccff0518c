/** `rollcall commands`: the whole command tree, for programs that call rollcall. */
import type { Command } from "commander";
import { version } from "../../../package.json" with { type: "json" };
import type { Context, Start } from "../../context.ts";
import { type Column, printList } from "../../output/index.ts";
import { examples } from "../help.ts";
import { type CommandFacts, describeTree } from "./tree.ts";

/** Declares `commands`. */
export const declareCommands = (parent: Command, start: Start): void => {
  const command = parent
    .command("commands")
    .description("list every command; with --json, its arguments, options, values and examples too")
    .action(async (_: unknown, own: Command) => await listCommands(start(own), parent));
  examples(command, ["rollcall commands", "rollcall commands --json"]);
};

/**
 * In JSON `{"name","version","about","options":[…],"exit_codes":[{"exit_code","code","when"}],"commands":[{"name","about",
 * "usage","arguments","options","verbs","examples","schema"}]}`; the options at the top are every command's too, and
 * `schema` is the name that `rollcall schema` knows the output by.
 */
const listCommands = async ({ screen, pages, schemas }: Context, root: Command): Promise<void> => {
  const [program, ...commands] = describeTree(root);
  const [{ codeTopics }, { outputs }] = [await pages(), await schemas()];
  const document = {
    name: root.name(),
    version,
    about: program?.about ?? "",
    options: program?.options ?? [],
    exit_codes: [
      { exit_code: 0, code: null, when: "All of it is done, or nothing was left to do." },
      ...codeTopics.flatMap(({ name, about, exitCodes }) =>
        exitCodes.map((exit) => ({ exit_code: exit, code: name, when: about })),
      ),
    ],
    commands: commands.map((command) => ({
      ...command,
      schema: outputs.some(({ name }) => name === command.name) ? command.name : null,
    })),
  };
  await printList(screen, {
    columns,
    rows: commands,
    wire: { bytes: Buffer.from(JSON.stringify(document)), member: "commands" },
  });
};

const columns: readonly Column<CommandFacts>[] = [
  { name: "name", heading: "command", rank: 0, cell: ({ name }) => name, value: ({ name }) => name },
  { name: "about", heading: "what it does", rank: 0, cell: ({ about }) => about, value: ({ about }) => about },
  { name: "usage", heading: "usage", rank: 2, cell: ({ usage }) => usage, value: ({ usage }) => usage },
];
