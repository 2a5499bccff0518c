/** What JSON Schemas are made of. */

/** A JSON Schema of draft 2020-12, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** What one output is, and what holds for it. */
export interface Output {
  /** Words of the command that prints it, such as `ledger status`, or the name of another document. */
  readonly name: string;
  /** What it is, in a few words. */
  readonly about: string;
  readonly schema: Schema;
  /** One line of `-o jsonl`, where that is not the document itself. */
  readonly line?: Schema;
}

/** A part with a sentence of what it is. */
export const about = (description: string, schema: Schema): Schema => ({ description, ...schema });

/** A text. */
export const text: Schema = { type: "string" };
/** Yes or no. */
export const flag: Schema = { type: "boolean" };
/** Any number. */
export const number: Schema = { type: "number" };
/** How many, or how much. */
export const count: Schema = { type: "integer", minimum: 0 };
/** A place in a text, from 1. */
export const place: Schema = { type: "integer", minimum: 1 };
/** A moment as `toISOString` writes it: RFC 3339, in UTC. */
export const moment: Schema = { type: "string", format: "date-time" };
/** Anything that JSON can hold. */
export const anything: Schema = {};

/** One of some words. */
export const oneOf = (...words: readonly (string | null)[]): Schema => ({ enum: words });

/** What has several shapes. */
export const either = (...shapes: readonly Schema[]): Schema => ({ anyOf: shapes });

/** Any number of parts of one kind. */
export const list = (items: Schema): Schema => ({ type: "array", items });

/** A part that may be null. */
export const nullable = (schema: Schema): Schema =>
  typeof schema.type === "string" && schema.enum === undefined
    ? { ...schema, type: [schema.type, "null"] }
    : { anyOf: [schema, { type: "null" }] };

/** An object with any names, and values of one kind. */
export const named = (values: Schema): Schema => ({ type: "object", additionalProperties: values });

/** An object made by rollcall: these keys, those of `optional` not always, and no others. */
export const object = (
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => ({
  type: "object",
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
});

/** An object of the service's own: any of these keys, and others. */
export const open = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
});

/** A part that stands in `$defs`. */
export const shared = (name: string): Schema => ({ $ref: `#/$defs/${name}` });
