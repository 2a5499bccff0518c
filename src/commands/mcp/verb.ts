/** A verb of the command tree as an agent calls it: its arguments and options as parameters, and the words that they mean. */
import type { Command } from "commander";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { type ArgumentFacts, describeTree, type OptionFacts } from "../commands/tree.ts";

/** The JSON Schema of a parameter, as far as one is needed here. */
export interface Schema {
  readonly type: "array" | "boolean" | "integer" | "string" | readonly ["string", "number"];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** What a client sent, by the parameters' names. */
export type Sent = Readonly<Record<string, unknown>>;

/** A verb. */
interface Verb {
  readonly about: string;
  readonly parameters: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** Its options as they would be typed, and its arguments. */
  words(sent: Sent): { readonly options: readonly string[]; readonly values: readonly string[] };
}

/** A verb by its words, such as `catalog router`, with some of its options. */
export const verbOf = (root: Command, verb: string, takes: readonly string[]): Verb => {
  const facts = describeTree(root).find(({ name }) => name === verb);
  if (facts === undefined) throw new Error(`no verb ${verb}`);
  const options = facts.options.filter(({ name }) => takes.includes(name));
  return {
    about: facts.about,
    parameters: Object.fromEntries([...facts.arguments, ...options].map((one) => [nameOf(one), schemaOf(one)])),
    // Standard input is the client's: what could come from there has to be named.
    required: facts.arguments.filter((one) => one.required || one.repeatable).map(nameOf),
    words: (sent) => ({
      options: options.flatMap((one) => typed(one.name, sent[nameOf(one)])),
      values: facts.arguments.flatMap((one) => sent[nameOf(one)] ?? []).map(String),
    }),
  };
};

/** `--input-modality` is `input_modality`. */
const nameOf = ({ name }: { readonly name: string }): string => name.replace(/^--/, "").replaceAll("-", "_");

/** A value is one word with its option, so that none is taken for another option. */
const typed = (long: string, value: unknown): readonly string[] =>
  typeof value === "boolean" ? (value ? [long] : []) : [value ?? []].flat().map((one) => `${long}=${one}`);

/** Longest text of a parameter, in UTF-16 units: ids, names and paths are shorter. */
const text: Schema = { type: "string", minLength: 1, maxLength: 1024 };

/** Most values of what may stand several times. */
const mostValues = 100;

const schemaOf = (facts: ArgumentFacts | OptionFacts): Schema => {
  const { about: description, repeatable } = facts;
  const isArgument = "required" in facts;
  const value = isArgument ? facts : facts.value;
  if (value === null) return { type: "boolean", description };
  const one: Schema = value.choices === null ? text : { type: "string", enum: value.choices };
  if (repeatable) return { type: "array", items: one, minItems: isArgument ? 1 : 0, maxItems: mostValues, description };
  return { ...one, ...(isArgument || one.enum !== undefined ? {} : { type: ["string", "number"] }), description };
};

/** Refuses what is not as the parameters' schemas have it. @throws Failure `words-wrong`, `option-value-wrong` */
export const requireFit = (
  tool: string,
  { parameters, required }: Pick<Verb, "parameters" | "required">,
  sent: Sent,
): void => {
  const names = Object.keys(parameters);
  const unknown = Object.keys(sent).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, names);
    throw new Failure("words-wrong", {
      text: `${tool} has no parameter "${unknown.slice(0, longestQuoted)}"`,
      suggestion: near === undefined ? `it takes ${names.join(", ")}` : `did you mean ${near}?`,
      command: "rollcall mcp",
    });
  }
  for (const [option, { description: _, ...schema }] of Object.entries(parameters)) {
    const value = sent[option];
    if (value === undefined ? !required.includes(option) : fits(schema, value)) continue;
    throw new Failure("option-value-wrong", {
      option,
      // What is nested is not quoted, however deeply.
      value: typeof value === "object" ? typeof value : String(value ?? "").slice(0, longestQuoted),
      wanted: `what its schema says: ${JSON.stringify(schema)}`,
      suggestion: typeof value === "string" ? nearest(value, schema.enum ?? []) : undefined,
    });
  }
};

/** Longest value that is quoted back. */
const longestQuoted = 100;

const fits = (schema: Schema, value: unknown): boolean => {
  const { type, minimum = 0, maximum = Number.MAX_VALUE, items, minItems = 0, maxItems = 0 } = schema;
  if (typeof value === "boolean") return type === "boolean";
  if (typeof value === "number") {
    return value >= minimum && value <= maximum && (type === "integer" ? Number.isInteger(value) : Array.isArray(type));
  }
  if (typeof value === "string") {
    const isText = type === "string" || Array.isArray(type);
    return isText && (schema.enum?.includes(value) ?? (value !== "" && value.length <= (schema.maxLength ?? 0)));
  }
  if (!Array.isArray(value) || items === undefined) return false;
  return value.length >= minItems && value.length <= maxItems && value.every((one) => fits(items, one));
};
