/** What `rollcall commands` does. */
import type { Command } from "commander";
import { version } from "../../../package.json" with { type: "json" };
import type { Context } from "../../context.ts";
import { type Column, printList, textColumn } from "../../output/index.ts";
import { codeTopics } from "../explain/pages.ts";
import { outputs } from "../schema/schemas.ts";
import { type CommandFacts, describeTree } from "./tree.ts";

/** Lists every command; `schema` of one is the name that `rollcall schema` knows its output by. */
export const run = async ({ screen }: Context, root: Command): Promise<void> => {
  const [program, ...commands] = describeTree(root);
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
  textColumn("name", { heading: "command", rank: 0, text: ({ name }) => name }),
  textColumn("about", { heading: "what it does", rank: 0, text: ({ about }) => about }),
  textColumn("usage", { rank: 2, text: ({ usage }) => usage }),
];
