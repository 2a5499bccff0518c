/** Finds the first issues of a value without checking the rest of a long list. */
import * as z from "zod/mini";
import { isObject } from "../json/walk.ts";

export type Issue = z.core.$ZodIssue;

/** Returns the first issues, in the order of the value. */
export const findFirstIssues = (schema: z.core.$ZodType, value: unknown, max: number): readonly Issue[] => {
  const issues: Issue[] = [];
  for (const issue of findIssues(schema, value, [])) if (issues.push(issue) >= max) break;
  return issues;
};

function* findIssues(schema: z.core.$ZodType, value: unknown, path: readonly PropertyKey[]): Generator<Issue, void> {
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable) {
    if (value !== (schema instanceof z.ZodMiniOptional ? undefined : null)) {
      yield* findIssues(schema.def.innerType, value, path);
    }
  } else if (schema instanceof z.ZodMiniArray && Array.isArray(value)) {
    const { element } = schema.def;
    if (element instanceof z.ZodMiniUnknown) return;
    for (const [at, item] of value.entries()) yield* findIssues(element, item, [...path, at]);
  } else if (schema instanceof z.ZodMiniRecord && schema.def.valueType instanceof z.ZodMiniUnknown && isObject(value)) {
    return;
  } else if (checksOnlyFields(schema) && isObject(value)) {
    for (const [name, field] of Object.entries(schema.def.shape))
      yield* findIssues(field, value[name], [...path, name]);
  } else {
    const { error } = z.safeParse(schema, value);
    for (const issue of error?.issues ?? []) yield { ...issue, path: [...path, ...issue.path] };
  }
}

/** True if the schema of an object checks only its fields. */
const checksOnlyFields = (schema: z.core.$ZodType): schema is z.ZodMiniObject =>
  schema instanceof z.ZodMiniObject &&
  schema.def.catchall instanceof z.ZodMiniUnknown &&
  (schema.def.checks?.length ?? 0) === 0;
