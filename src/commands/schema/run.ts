/** What `rollcall schema` does. */
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { type Column, type ListView, printDocument, printList, textColumn } from "../../output/index.ts";
import { documentSchema, lineSchema, type Output, outputs } from "./schemas.ts";

/** Lists the schemas, or prints that of an output. @throws Failure `option-needs`, `option-value-wrong` */
export const run = async (
  context: Context,
  words: readonly string[],
  { line = false }: { readonly line?: boolean },
): Promise<void> => {
  if (words.length === 0 && line) throw new Failure("option-needs", { option: "--line", needs: "<command>" });
  if (words.length === 0) await listSchemas(context);
  else await printSchema(context, { name: words.join(" "), line });
};

/** A schema, and the files of the package that hold it. */
interface Listed {
  readonly output: Output;
  readonly file: string;
  readonly lineFile: string | undefined;
}

const listSchemas = async ({ screen }: Context): Promise<void> => {
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

const columns: readonly Column<Listed>[] = [
  textColumn("name", { rank: 0, text: ({ output: { name } }) => name }),
  textColumn("about", { rank: 0, text: ({ output: { about } }) => about }),
  textColumn("file", { rank: 2, text: ({ file }) => file }),
  textColumn("line_file", { heading: "line file", rank: 3, text: ({ lineFile }) => lineFile }),
];

/** Prints a schema, whatever form was asked for. @throws Failure `option-value-wrong` */
const printSchema = async (
  context: Context,
  { name, line }: { readonly name: string; readonly line: boolean },
): Promise<void> => {
  const output = outputs.find((one) => one.name === name);
  if (output === undefined)
    throw unknownOutput(
      name,
      outputs.map((one) => one.name),
    );
  const { schema } = line ? lineSchema(output) : documentSchema(output);
  if (context.screen.isForProgram) await printDocument(context.screen, schema);
  else await context.screen.text(`${JSON.stringify(schema, undefined, 2)}\n`);
};

const unknownOutput = (value: string, names: readonly string[]): Failure => {
  const below = names.filter((name) => name.startsWith(`${value} `));
  const wanted =
    below.length > 0 ? below.join(", ") : "a command with a result in JSON, as `rollcall schema` lists them";
  return new Failure("option-value-wrong", {
    option: "<command>",
    value,
    wanted,
    suggestion: below.length > 0 ? undefined : nearest(value, names),
  });
};
