/** Finds what a schema has against a value, up to a number of issues: of a list of millions no more is looked at than that takes. */

import * as z from "zod/mini";
import { isObject } from "../json/walk.ts";

/** What a schema has against a value, and where. */
export type Issue = z.core.$ZodIssue;

/** The first issues, in the order of the value. None where the schema takes it. */
export const firstIssues = (schema: z.core.$ZodType, value: unknown, most: number): readonly Issue[] => {
  const found: Issue[] = [];
  look({ found, most }, { schema, value, path: [] });
  return found;
};

interface Search {
  readonly found: Issue[];
  readonly most: number;
}

interface Place {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
  readonly path: readonly PropertyKey[];
}

const look = (search: Search, { schema, value, path }: Place): void => {
  if (schema instanceof z.ZodMiniOptional && value === undefined) return;
  if (schema instanceof z.ZodMiniNullable && value === null) return;
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable) {
    look(search, { schema: schema.def.innerType, value, path });
    return;
  }
  if (schema instanceof z.ZodMiniArray && Array.isArray(value)) {
    lookThrough(search, { schema, value, path });
    return;
  }
  if (schema instanceof z.ZodMiniRecord && schema.def.valueType instanceof z.ZodMiniUnknown && isObject(value)) return;
  if (isLoose(schema) && isObject(value)) {
    for (const [name, field] of Object.entries(schema.def.shape)) {
      if (search.found.length >= search.most) return;
      look(search, { schema: field, value: value[name], path: [...path, name] });
    }
    return;
  }
  const outcome = z.safeParse(schema, value);
  if (outcome.success) return;
  const own = outcome.error.issues.slice(0, search.most - search.found.length);
  search.found.push(...own.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));
};

const lookThrough = (
  search: Search,
  { schema, value, path }: Place & { readonly schema: z.ZodMiniArray; readonly value: readonly unknown[] },
): void => {
  const { element } = schema.def;
  if (element instanceof z.ZodMiniUnknown) return;
  for (let at = 0; at < value.length && search.found.length < search.most; at++) {
    look(search, { schema: element, value: value[at], path: [...path, at] });
  }
};

/** Whether an object's schema says something of its own fields alone. */
const isLoose = (schema: z.core.$ZodType): schema is z.ZodMiniObject =>
  schema instanceof z.ZodMiniObject &&
  schema.def.catchall instanceof z.ZodMiniUnknown &&
  (schema.def.checks?.length ?? 0) === 0;
