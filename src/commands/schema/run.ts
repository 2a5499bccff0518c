/** What `rollcall schema` does. */

import type { Context } from "../../context.ts";
import type { Failure } from "../../failure.ts";
import { optionNeeds, optionValueWrong } from "../../failures.ts";
import { nearest } from "../../nearest.ts";
import { printDocument } from "../../output/index.ts";
import { printOwn } from "../lists/own.ts";
import { documentSchema, lineSchema, outputs } from "./schemas.ts";

/** Lists the schemas, or prints that of an output. @throws Failure `option-needs`, `option-value-wrong` */
export const run = async (
  context: Context,
  words: readonly string[],
  { line = false }: { readonly line?: boolean },
): Promise<void> => {
  if (words.length === 0 && line) throw optionNeeds("--line", "<command>");
  if (words.length === 0) await listSchemas(context);
  else await printSchema(context, { name: words.join(" "), line });
};

const listSchemas = async ({ screen }: Context): Promise<void> => {
  const schemas = outputs.map((output) => {
    const { name, about, line } = output;
    const line_file = line === undefined ? null : lineSchema(output).file;
    return { name, about, file: documentSchema(output).file, line_file };
  });
  const columns = { name: 0, about: 0, file: 2, line_file: { heading: "line file", rank: 3 } };
  await printOwn(screen, { member: "schemas", rows: schemas, columns });
};

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
  return optionValueWrong({
    option: "<command>",
    value,
    wanted,
    suggestion: below.length > 0 ? undefined : nearest(value, names),
  });
};
