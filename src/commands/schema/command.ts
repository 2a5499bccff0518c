/** `rollcall schema`: the JSON Schemas of `--json` output. */
import { command, flag, repeated } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { invalidOptionValue, requiredOptionMissing } from "../../failures.ts";
import { findNearest } from "../../nearest.ts";
import { printDocument } from "../../output/index.ts";
import { printObjects } from "../lists/object-list.ts";

/** Loads zod, too. */
const loadOutputs = () => import("./outputs.ts");

/** @throws Failure `required-option-missing`, `invalid-option-value` */
export const schema = command({
  words: "schema",
  summary: "print the JSON Schema of --json output",
  about: "print the JSON Schema of a command's --json output",
  args: { command: repeated("command, or error, problem, rejected, event; none lists all") },
  options: { line: flag("schema of one line of -o jsonl") },
  examples: ["rollcall schema ledger status", "rollcall schema models --line"],
  run: async (context, { command: words, line }) => {
    if (words.length > 0) return await printSchema(context, words.join(" "), line);
    if (line) throw requiredOptionMissing("--line", "<command>");
    const { outputs, documentSchema, lineSchema } = await loadOutputs();
    const rows = outputs.map((output) => {
      const { name, about } = output;
      const line_file = output.line === undefined ? null : lineSchema(output).file;
      return { name, about, file: documentSchema(output).file, line_file };
    });
    const columns = { name: 0, about: 0, file: 2, line_file: { heading: "line file", rank: 3 } };
    await printObjects(context.screen, { member: "schemas", rows, columns });
  },
});

const printSchema = async ({ screen }: Context, name: string, isLine: boolean): Promise<void> => {
  const { outputs, documentSchema, lineSchema } = await loadOutputs();
  const output = outputs.find((one) => one.name === name);
  if (output === undefined) {
    const names = outputs.map((one) => one.name);
    const verbs = names.filter((one) => one.startsWith(`${name} `));
    const about = { option: "<command>", value: name };
    if (verbs.length > 0) throw invalidOptionValue({ ...about, wanted: verbs.join(", ") });
    const wanted = "a name from `rollcall schema`";
    throw invalidOptionValue({ ...about, wanted, suggestion: findNearest(name, names) });
  }
  const document = (isLine ? lineSchema : documentSchema)(output).schema;
  if (screen.isForProgram) await printDocument(screen, document);
  else await screen.printText(`${JSON.stringify(document, undefined, 2)}\n`);
};
