/** `rollcall schema`: the JSON Schemas of what `--json` prints. */
import type { Command } from "commander";
import type { Context, Start } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { type Column, type ListView, printDocument, printList } from "../../output/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";
import type { Output } from "./schemas.ts";

/** Declares `schema`. */
export const declareSchema = (parent: Command, start: Start): void => {
  const command = parent
    .command("schema")
    .summary("print the JSON Schema of what --json prints")
    .description("print the JSON Schema of what a command prints with --json, whole and without --fields")
    .argument("[command...]", "words of a command, or error, problem, rejected, event; none lists all")
    .option("--line", "the schema of one line of -o jsonl")
    .action(async (words: string[], { line }: { readonly line?: boolean }, own: Command) => {
      const context = start(own);
      if (words.length === 0 && line === true)
        throw new Failure("option-needs", { option: "--line", needs: "<command>" });
      if (words.length === 0) await listSchemas(context);
      else await printSchema(context, { name: words.join(" "), line: line === true });
    });
  examples(command, ["rollcall schema ledger status", "rollcall schema models --line"]);
};

/** A schema, and the files of the package that hold it. */
interface Listed {
  readonly output: Output;
  readonly file: string;
  readonly lineFile: string | undefined;
}

/** In JSON `{"schemas":[{"name","about","file","line_file"}]}`. */
const listSchemas = async ({ screen, schemas }: Context): Promise<void> => {
  const { outputs, documentSchema, lineSchema } = await schemas();
  const rows = outputs.map((output): Listed => {
    const { file } = documentSchema(output);
    return { output, file, lineFile: output.line === undefined ? undefined : lineSchema(output).file };
  });
  await printList(screen, schemasView(rows));
};

const schemasView = (rows: readonly Listed[]): ListView<Listed> => ({
  columns,
  rows,
  wire: { bytes: Buffer.from(JSON.stringify({ schemas: rows.map(listedDocument) })), member: "schemas" },
});

const listedDocument = ({ output: { name, about }, file, lineFile }: Listed) => ({
  name,
  about,
  file,
  line_file: lineFile ?? null,
});

const column = (name: string, rank: number, value: (row: Listed) => string | undefined): Column<Listed> => ({
  name,
  heading: name.replace("_", " "),
  rank,
  cell: (row) => value(row) ?? "",
  value,
});

const columns: readonly Column<Listed>[] = [
  column("name", 0, ({ output: { name } }) => name),
  column("about", 0, ({ output: { about } }) => about),
  column("file", 2, ({ file }) => file),
  column("line_file", 3, ({ lineFile }) => lineFile),
];

/** Prints a schema, whatever form was asked for. @throws Failure `option-value-wrong` */
const printSchema = async (
  context: Context,
  { name, line }: { readonly name: string; readonly line: boolean },
): Promise<void> => {
  const { outputs, documentSchema, lineSchema } = await context.schemas();
  const output = outputs.find((one) => one.name === name);
  if (output === undefined)
    throw unknownOutput(
      name,
      outputs.map((one) => one.name),
    );
  const { schema } = line ? lineSchema(output) : documentSchema(output);
  if (isForProgram(context)) await printDocument(context.screen, schema);
  else await context.screen.text(`${JSON.stringify(schema, undefined, 2)}\n`);
};

const unknownOutput = (value: string, names: readonly string[]): Failure => {
  const below = names.filter((name) => name.startsWith(`${value} `));
  const suggestion = below.length > 0 ? undefined : nearest(value, names);
  const wanted =
    below.length > 0 ? below.join(", ") : "a command with a result in JSON, as `rollcall schema` lists them";
  return new Failure("option-value-wrong", {
    option: "<command>",
    value,
    wanted,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
};
