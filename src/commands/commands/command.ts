import { version } from "../../../package.json" with { type: "json" };
import { command, describeCommands, listOutputs } from "../../cli/index.ts";
import { printObjects } from "../../output/index.ts";
import type { CommandsDocument } from "./output.ts";

export const commands = command({
  words: "commands",
  loadOutputs: () => import("./output.ts"),
  group: "more",
  about: "list every command; --json adds arguments, options, values and examples",
  examples: ["rollcall commands", "rollcall commands --json"],
  run: async ({ screen }, _, program) => {
    const { codeTopics } = await import("../explain/topics.ts");
    const outputs = await listOutputs(program);
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
