/** Finds the JSON documents of commands. */

import type { Output } from "../output/document-schemas.ts";
import { invalidOptionValue } from "../system/failures.ts";
import { findNearest } from "../text/nearest.ts";
import type { Command, Program } from "./command.ts";

export const listOutputs = async ({ nouns }: Program) => {
  const commands = await Promise.all(Object.values(nouns).map((load) => load()));
  return (await Promise.all(commands.map(loadOutputs))).flat();
};

const loadOutputs = async ({ loadOutputs: load }: Command): Promise<readonly Output[]> =>
  load
    ? Object.entries((await load()).outputs).map(([name, [about, schema, line]]) => ({ name, about, schema, line }))
    : [];

/** @throws Failure `invalid-option-value` */
export const checkFields = async ({ nouns }: Program, words: string, fields: readonly string[]) => {
  const noun = await nouns[words.split(" ", 1)[0] ?? ""]?.();
  const output = noun && (await loadOutputs(noun)).find(({ name }) => name === words);
  const known = output ? (await import("../output/document-schemas.ts")).keysOf(output.schema) : [];
  const unknown = fields.find((field) => !known.some((name) => field === name || field.startsWith(`${name}.`)));
  const wanted = `names of keys: ${known.slice(0, 5).join(", ")}, …`;
  if (unknown !== undefined) throw invalidOptionValue("--fields", unknown, wanted, findNearest(unknown, known));
};
