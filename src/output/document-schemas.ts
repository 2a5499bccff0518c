/** Defines parts of the schemas of documents, and makes JSON Schemas. */
import * as z from "zod/mini";
import { exitCodes } from "../failure.ts";

export { array, looseObject, nullable, optional, strictObject as object, union, unknown } from "zod/mini";

export type Schema = z.ZodMiniType;
export type Infer<Of extends Schema> = z.infer<Of>;

/** `notes.id` becomes the name of the schema in `$defs`, so a JSON Schema contains it only once. */
export const withNotes = <Of extends Schema>(schema: Of, notes: z.core.GlobalMeta): Of => {
  const noted = schema.clone();
  z.globalRegistry.add(noted, { ...z.globalRegistry.get(schema), ...notes });
  return noted;
};

export const describe = <Of extends Schema>(description: string, schema: Of) => withNotes(schema, { description });
export const optionalAbout = <Of extends Schema>(sentence: string, schema: Of) =>
  z.optional(describe(sentence, schema));

export const text = z.string();
export const flag = z.boolean();
export const number = z.number();
export const count = z.int().check(z.minimum(0));
export const position = z.int().check(z.minimum(1));
/** A time in UTC (RFC 3339). */
export const time = z.iso.datetime();
/** An exact amount. */
export const dollars = text.check(z.regex(/^[0-9]+(\.[0-9]+)?$/));
export const oneOf = <const Word extends string | number | null>(...words: readonly Word[]) => z.literal(words);
export const list = <Of extends Schema>(items: Of) => z.readonly(z.array(items));

type Keys = Readonly<Record<string, Schema>>;
export const objects = <Of extends Keys>(keys: Of) => list(z.strictObject(keys));
export const objectsAbout = <Of extends Keys>(sentence: string, keys: Of) => describe(sentence, objects(keys));
export const objectAbout = <Of extends Keys>(sentence: string, keys: Of) => describe(sentence, z.strictObject(keys));
export const objectOrNull = <Of extends Keys>(keys: Of) => z.nullable(z.strictObject(keys));
export const objectsOrNull = <Of extends Keys>(sentence: string, keys: Of) =>
  describe(sentence, z.nullable(objects(keys)));

export const named = <Of extends Schema>(values: Of) => z.record(z.string(), values);

/** Values of a service, which rollcall prints unchecked: each can be absent, null or of another type. */
export const sent = (usual: string) => z.optional(describe(`usually ${usual}`, z.unknown()));
export const sentText = sent("a text");
export const sentTexts = sent("a list of texts");
export const sentObject = sent("an object");
export const sentInteger = sent("an integer");

export const sameKeys = <Of extends Schema, Name extends string>(
  schema: Of,
  ...names: readonly Name[]
): Readonly<Record<Name, Of>> => Object.fromEntries(names.map((name): readonly unknown[] => [name, schema]));

export const code = oneOf(...Object.keys(exitCodes));
/** The uses of a credential. */
export const use = oneOf("log", "inference", "calls");

export const positionKeys = {
  file: optionalAbout("- is standard input", text),
  line: z.optional(position),
  column: optionalAbout("in UTF-16 units", position),
};

export const problemKeys = {
  rule: describe("name of the rule, for --allow", text),
  severity: oneOf("error", "warning"),
  message: text,
  ...positionKeys,
  path: optionalAbout("keys and indexes of the value", list(z.union([text, z.int()]))),
  advice: z.optional(text),
  from: optionalAbout("service: reported by the service", oneOf("service")),
};

export const problem = z.strictObject(problemKeys);
const sharedProblem = withNotes(problem, { id: "problem" });
export const problems = list(sharedProblem);
export const limitedProblems = z.readonly(z.array(sharedProblem).check(z.maxLength(20)));

/** Keys of each document about inputs. */
export const inputKeys = { unreadable_lines: optionalAbout("each counts as a rejected group", count) };

export const metrics = describe("means over all valid groups", named(number));
export const notes = describe("notices, as a person sees them", list(text));
export const readAndRejected = z.strictObject({ read: count, rejected: count });

/** The note about objects of a service, whose content rollcall does not check. */
export const passthroughNote =
  "as the service sent it, including unknown keys, invalid values and the spelling of numbers";

/** Returns the schema of the objects that the options select, if `--fields` can name keys of several. */
type SelectForm = (typed: Readonly<Record<string, unknown>>) => Schema;
type Definition = readonly [about: string, schema: Schema, line?: Schema | undefined, form?: SelectForm];

/** The documents of a noun by command. `line` describes a line of `-o jsonl`. */
export type Outputs = Readonly<Record<string, Definition>>;

export type Output = Readonly<{
  name: string;
  about: string;
  schema: Schema;
  line: Schema | undefined;
  form: SelectForm | undefined;
}>;

export const documentSchema = ({ name, about: description, schema }: Output) =>
  toSchemaFile(name, { title: `rollcall ${name}`, description, ...toJsonSchema(schema) });

export const lineSchema = (output: Output) => {
  const { name, line } = output;
  if (!line) return documentSchema(output);
  return toSchemaFile(`${name}.line`, { title: `rollcall ${name}, one line of -o jsonl`, ...toJsonSchema(line) });
};

const toSchemaFile = (name: string, schema: Readonly<Record<string, unknown>>) => {
  const id = name.replaceAll(" ", "-");
  const draft = "https://json-schema.org/draft/2020-12/schema";
  return { file: `schemas/${id}.json`, schema: { $schema: draft, $id: `urn:rollcall:schema:${id}`, ...schema } };
};

/** Reads the names of keys. Below a map or an object of a service, `has` accepts any name. */
export const readKeys = (schema: Schema) => {
  type Node = z.core.JSONSchema._JSONSchema;
  const root = toJsonSchema(schema);
  const listForms = (node: Node | Node[] | undefined): readonly z.core.JSONSchema.JSONSchema[] => {
    if (typeof node !== "object") return [];
    if (Array.isArray(node)) return node.flatMap(listForms);
    if (node.$ref) return listForms(root.$defs?.[node.$ref.slice("#/$defs/".length)]);
    return node.anyOf || node.items ? listForms(node.anyOf ?? node.items) : [node];
  };
  const isOpen = (node: Node) =>
    listForms(node).some(({ type, enum: words, const: word, additionalProperties }) =>
      type === "object" ? additionalProperties !== false : (type ?? words ?? word) === undefined,
    );
  const listKeys = (node: Node) => listForms(node).flatMap(({ properties = {} }) => Object.entries(properties));
  const has = (name: string, node: Node = root): boolean =>
    listKeys(node).some(([key, value]) => {
      if (!name.startsWith(`${key}.`)) return name === key;
      return isOpen(value) || has(name.slice(key.length + 1), value);
    });
  return { has, names: [...new Set(listKeys(root).map(([key]) => key))], isOpen: isOpen(root) };
};

/** Returns a JSON Schema (draft 2020-12) without `$schema`. */
const toJsonSchema = (schema: Schema) => {
  const { $schema: _, ...document } = z.toJSONSchema(schema, {
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
