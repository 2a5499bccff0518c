import { command, listOutputs } from "../../cli/command.ts";
import { flag, repeated } from "../../cli/kinds.ts";
import { printDocument, printObjects } from "../../output/list.ts";
import { invalidOptionValue, requiredOptionMissing } from "../../system/failures.ts";
import { findNearest } from "../../text/nearest.ts";
import type { SchemaListDocument } from "./output.ts";

export const schema = command({
  words: "schema",
  loadOutputs: () => import("./output.ts"),
  group: "more",
  about: "print the JSON Schema of a command's --json output",
  args: {
    command: {
      ...repeated("a command, or error, problem, rejected or event (default: list all)"),
      completion: "schemas" as const,
    },
  },
  options: { line: flag("schema of one line of -o jsonl") },
  examples: ["rollcall schema ledger status", "rollcall schema models --line"],
  run: async ({ screen }, { command: words, line: isLine }, program) => {
    const name = words.join(" ");
    if (name === "" && isLine) throw requiredOptionMissing("--line", "<command>");
    const { documentSchema, lineSchema } = await import("../../output/document-schemas.ts");
    const outputs = await listOutputs(program);
    if (name === "") {
      const schemas = outputs.map((output) => {
        const line_file = output.line ? lineSchema(output).file : null;
        return { name: output.name, about: output.about, file: documentSchema(output).file, line_file };
      });
      const document: SchemaListDocument = { schemas };
      return await printObjects(screen, document, {
        member: "schemas",
        columns: [
          { name: "name", rank: 0 },
          { name: "about", rank: 0 },
          { name: "file", rank: 2 },
          { name: "line_file", heading: "line file", rank: 3 },
        ],
      });
    }
    const output = outputs.find((one) => one.name === name);
    if (!output) {
      const names = outputs.map((one) => one.name);
      throw invalidOptionValue("<command>", name, "a name from `rollcall schema`", findNearest(name, names));
    }
    const document = (isLine ? lineSchema : documentSchema)(output).schema;
    if (screen.isForProgram) await printDocument(screen, document);
    else await screen.printText(`${JSON.stringify(document, undefined, 2)}\n`);
  },
});
