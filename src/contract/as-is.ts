/** Tells values that a schema gives back as they are, so that the entries of a long list are not copied one by one. */

import * as z from "zod/mini";
import { isObject } from "../json/walk.ts";

/** Whether a schema takes a value and changes nothing about it; false also where only the schema itself can say. */
type AsIs = (value: unknown) => boolean;

/** Tests for schemas that tell by a function of their own what they take. */
type Known = ReadonlyMap<z.core.$ZodType, AsIs>;

/** Makes the test from the schema's own definition, for the kinds of schemas that entries are made of. */
export const asIs = (schema: z.core.$ZodType, known: Known = new Map()): AsIs => {
  const own = known.get(schema);
  if (own !== undefined) return own;
  if (schema instanceof z.ZodMiniOptional) {
    const inner = asIs(schema.def.innerType, known);
    return (value) => value === undefined || inner(value);
  }
  if (schema instanceof z.ZodMiniNullable) {
    const inner = asIs(schema.def.innerType, known);
    return (value) => value === null || inner(value);
  }
  // The first option that takes a value decides: of the others nothing is known without asking it.
  if (schema instanceof z.ZodMiniUnion) return asIs(schema.def.options[0] ?? z.never(), known);
  if (hasChecks(schema)) return () => false;
  if (schema instanceof z.ZodMiniUnknown) return () => true;
  if (schema instanceof z.ZodMiniString) return (value) => typeof value === "string";
  if (schema instanceof z.ZodMiniNumber) return (value) => Number.isFinite(value);
  if (schema instanceof z.ZodMiniBoolean) return (value) => typeof value === "boolean";
  if (schema instanceof z.ZodMiniArray) return arrayAsIs(schema, known);
  if (schema instanceof z.ZodMiniRecord) return recordAsIs(schema);
  return schema instanceof z.ZodMiniObject ? objectAsIs(schema, known) : () => false;
};

const arrayAsIs = ({ def: { element } }: z.ZodMiniArray, known: Known): AsIs => {
  if (element instanceof z.ZodMiniUnknown) return Array.isArray;
  const isAsIs = asIs(element, known);
  return (value) => Array.isArray(value) && value.every(isAsIs);
};

/** Of records, those of anything; a schema leaves the key out that would be a prototype. */
const recordAsIs = ({ def: { keyType, valueType } }: z.ZodMiniRecord): AsIs => {
  const ofAnything = keyType instanceof z.ZodMiniString && !hasChecks(keyType) && valueType instanceof z.ZodMiniUnknown;
  return ofAnything ? (value) => isObject(value) && !Object.hasOwn(value, "__proto__") : () => false;
};

const objectAsIs = ({ def: { shape, catchall } }: z.ZodMiniObject, known: Known): AsIs => {
  if (!(catchall instanceof z.ZodMiniUnknown)) return () => false;
  const fields = Object.entries(shape).map(([name, field]) => ({ name, isAsIs: asIs(field, known) }));
  return (value) => {
    if (!isObject(value)) return false;
    for (const { name, isAsIs } of fields) if (!isAsIs(value[name])) return false;
    return true;
  };
};

const hasChecks = ({ _zod }: z.core.$ZodType): boolean => (_zod.def.checks?.length ?? 0) > 0;
