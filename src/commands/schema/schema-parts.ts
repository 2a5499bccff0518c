/** Defines parts of the schemas of outputs. */
import * as z from "zod/mini";
import type { Schema } from "../../contract/endpoint.ts";
import { describe, withNotes } from "../../contract/replies.ts";
import type { JsonObject } from "../../json/json-bytes.ts";

export { looseObject, nullable, optional, strictObject as object, union, unknown } from "zod/mini";
export { describe } from "../../contract/replies.ts";

/** `line` describes a line of `-o jsonl`. */
export type Outputs = Readonly<Record<string, readonly [about: string, schema: Schema, line?: Schema]>>;

/** A JSON Schema contains a shared schema only once, in `$defs`. */
export const shared = <Of extends Schema>(id: string, schema: Of) => withNotes(schema, { id });
export const optionalAbout = <Of extends Schema>(sentence: string, schema: Of) =>
  z.optional(describe(sentence, schema));

export const text = z.string();
export const flag = z.boolean();
export const number = z.number();
export const count = z.int().check(z.minimum(0));
export const position = z.int().check(z.minimum(1));
/** A time in UTC (RFC 3339). */
export const time = z.iso.datetime();
export const oneOf = <const Word extends string | number | null>(...words: readonly Word[]) => z.literal(words);
export const list = <Of extends Schema>(items: Of) => z.readonly(z.array(items));
export const named = <Of extends Schema>(values: Of) => z.record(z.string(), values);

export const listDocument = (name: string, row: Schema, others: Readonly<Record<string, Schema>> = {}) =>
  [z.strictObject({ ...others, [name]: list(row) }), row] as const;

export const sameKeys = <Of extends Schema, Name extends string>(
  schema: Of,
  ...names: readonly Name[]
): Readonly<Record<Name, Of>> => Object.fromEntries(names.map((name): readonly unknown[] => [name, schema]));

export const positionKeys = {
  file: optionalAbout("- is standard input", text),
  line: z.optional(position),
  column: optionalAbout("in UTF-16 units", position),
};

export const problemKeys = {
  rule: describe("name of the rule, for --allow and explain", text),
  severity: oneOf("error", "warning"),
  message: text,
  ...positionKeys,
  path: optionalAbout("keys and indexes of the value", list(z.union([text, z.int()]))),
  advice: z.optional(text),
  from: optionalAbout("service: reported by the service", oneOf("service")),
};

export const problem = z.strictObject(problemKeys);
const sharedProblem = shared("problem", problem);
export const problems = list(sharedProblem);
export const limitedProblems = z.readonly(z.array(sharedProblem).check(z.maxLength(20)));

/** Returns a JSON Schema (draft 2020-12) without `$schema`. */
export const toJsonSchema = (schema: Schema) => {
  const { $schema: _, ...document }: JsonObject = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema }) {
      // zod's pattern for `date-time` has 256 characters.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      delete jsonSchema.readOnly;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return document;
};
