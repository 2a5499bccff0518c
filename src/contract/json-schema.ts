/** The JSON Schemas of the service's objects, read off the contract's own. */
import * as z from "zod/mini";
import { isObject, type JsonObject } from "../json/walk.ts";
import { fieldNotes } from "./endpoint.ts";
import { entrySchemas } from "./entries.ts";

/** The JSON Schema, a part of one of draft 2020-12, of what the service sends. */
export const jsonSchemaOf = (schema: z.ZodMiniType): JsonObject => {
  const { $schema: _, ...own } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    metadata: fieldNotes,
    override({ zodSchema, jsonSchema }) {
      const entry = entrySchemas.get(zodSchema);
      if (entry !== undefined) Object.assign(jsonSchema, { type: "array", items: jsonSchemaOf(entry) });
    },
  });
  const read = tidied(own);
  return isObject(read) ? read : {};
};

/** Without what says nothing, such as that whatever else comes is read too; a type and null are one list of types. */
const tidied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(tidied);
  if (!isObject(value)) return value;
  const { anyOf, propertyNames: _, additionalProperties, whole, type, ...own } = value;
  const [first, other]: readonly unknown[] = Array.isArray(anyOf) ? anyOf : [];
  if (isObject(first) && isObject(other) && Object.keys(other).length === 0) {
    return tidied({ ...own, ...first, ...(whole === undefined ? {} : { whole }) });
  }
  if (isObject(first) && isObject(other) && other.type === "null") {
    return tidied({ ...own, ...first, type: [first.type, "null"] });
  }
  const isOpen = own.properties !== undefined || additionalProperties === undefined;
  const kept = {
    ...(type === undefined ? {} : { type: whole === true ? ["integer", "null"] : type }),
    ...own,
    ...(isOpen ? {} : { additionalProperties }),
  };
  return Object.fromEntries(Object.entries(kept).map(([key, one]) => [key, tidied(one)]));
};
