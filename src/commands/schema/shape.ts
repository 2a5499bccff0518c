/** A notation for JSON Schemas. A value is a JSON Schema, or a text such as `count`, `text? note` or `log|calls note`. */
import type { JsonObject } from "../../json/walk.ts";

/** Types by name. `time` is what `toISOString` writes; a `position` in a text starts at 1. */
const types: Readonly<Record<string, JsonObject>> = {
  text: { type: "string" },
  flag: { type: "boolean" },
  number: { type: "number" },
  count: { type: "integer", minimum: 0 },
  position: { type: "integer", minimum: 1 },
  time: { type: "string", format: "date-time" },
  any: {},
};

type Shape = string | JsonObject;
type Shapes = Readonly<Record<string, Shape>>;

/** Returns the schema of a text: a type or the allowed words, `?` if null is allowed, then a description. */
const parseShape = (shape: Shape): JsonObject => {
  if (typeof shape !== "string") return shape;
  const [, type = "", mark, description] = /^([^ ?]+)(\?)?(?: (.+))?$/.exec(shape) ?? [];
  const schema = types[type] ?? { enum: type.split("|") };
  const described = description === undefined ? schema : { description, ...schema };
  return mark === undefined ? described : nullable(described);
};

export const about = (description: string, schema: JsonObject): JsonObject => ({ description, ...schema });

/** Allows null. */
export const nullable = (schema: JsonObject): JsonObject =>
  Array.isArray(schema.enum)
    ? { ...schema, enum: [...schema.enum, null] }
    : typeof schema.type === "string"
      ? { ...schema, type: [schema.type, "null"] }
      : { anyOf: [schema, { type: "null" }] };

/** An object that may have more keys. A key that ends in `?` is optional; several keys with spaces share a shape. */
export const open = (shapes: Shapes): JsonObject => {
  const entries = Object.entries(shapes).flatMap(([keys, shape]) =>
    keys.split(" ").map((key) => ({ key: key.replace("?", ""), isOptional: key.endsWith("?"), shape })),
  );
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(({ key, shape }): readonly unknown[] => [key, parseShape(shape)])),
    required: entries.flatMap(({ key, isOptional }) => (isOptional ? [] : [key])),
  };
};

/** An object with exactly these keys. */
export const object = (shapes: Shapes): JsonObject => ({ ...open(shapes), additionalProperties: false });

export const list = (items: Shape): JsonObject => ({ type: "array", items: parseShape(items) });

/** An object with any keys. */
export const named = (values: Shape): JsonObject => ({ type: "object", additionalProperties: parseShape(values) });

export const either = (...schemas: readonly JsonObject[]): JsonObject => ({ anyOf: schemas });

/** Description, schema of the document, and schema of a line of `-o jsonl` if it differs. */
export type Documents = Readonly<Record<string, readonly [about: string, schema: JsonObject, line?: JsonObject]>>;

/** A document with a list, and the schema of a row. */
export const rows = (name: string, row: JsonObject, others = {}) =>
  [object({ ...others, [name]: list(row) }), row] as const;

export const positionKeys = { "file?": "text - is stdin", "line?": "position", "column?": "position in UTF-16 units" };

/** The keys of a problem (output.md). */
export const problemKeys = {
  rule: "text name of the rule, for --allow and explain",
  severity: "error|warning",
  message: "text",
  ...positionKeys,
  "path?": about("keys and indexes of the value", list({ type: ["string", "integer"] })),
  "advice?": "text",
  "from?": "service reported by the service",
};

export const problem = object(problemKeys);
export const problems = list(problem);
