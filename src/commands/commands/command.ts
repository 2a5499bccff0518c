import { version } from "../../../package.json" with { type: "json" };
import * as cli from "../../cli/command.ts";
import { printObjects } from "../../output/list.ts";
import { codeTopics } from "./exit-codes.ts";
import type { CommandsDocument } from "./output.ts";

export const commands = cli.command({
  words: "commands",
  loadOutputs: () => import("./output.ts"),
  group: "more",
  about: "list every command; --json adds arguments, options, values and examples",
  examples: ["rollcall commands", "rollcall commands --json"],
  run: async ({ screen }, _, program) => {
    const outputs = await cli.listOutputs(program);
    const [root, ...rows] = await describeCommands(program);
    const document: CommandsDocument = {
      name: "rollcall",
      version,
      about: root?.about ?? "",
      options: root?.options ?? [],
      exit_codes: codeTopics.flatMap(({ about, code, exit_codes }) =>
        exit_codes.map((exit) => ({ exit_code: exit, code, when: about })),
      ),
      commands: rows.map((row) => ({ ...row, schema: outputs.find(({ name }) => name === row.name)?.name ?? null })),
    };
    await printObjects(screen, document, {
      member: "commands",
      columns: [
        { name: "name", heading: "command", rank: 0 },
        { name: "about", heading: "description", rank: 0 },
        { name: "usage", rank: 2 },
      ],
    });
  },
});

const describeCommand = (command: cli.Command) => ({
  name: command.words,
  about: command.about,
  usage: cli.formatUsage(command),
  arguments: Object.entries(command.args).map(([name, kind]) => ({
    name,
    choices: kind.choices ?? null,
    about: kind.about,
    required: kind.required === true,
    repeatable: kind.repeatable === true,
  })),
  options: Object.entries(command.options).map(([name, kind]) => ({
    name: `--${name}`,
    short: kind.short ? `-${kind.short}` : null,
    about: kind.about,
    value: kind.placeholder ? { name: kind.placeholder, choices: kind.choices ?? null } : null,
    default: kind.default ?? null,
    repeatable: kind.repeatable === true,
    group: kind.group ?? null,
  })),
  verbs: command.subcommands.map(cli.lastWord),
  examples: command.examples,
});

export const describeCommands = async (program: cli.Program) =>
  cli.listCommands(await cli.loadTree(program)).map(describeCommand);
