/** Describes schemas. */
import * as z from "zod/mini";

export type Schema = z.ZodMiniType;

/** `notes.id` becomes the name of the schema in `$defs`, so a JSON Schema contains it only once. */
export const withNotes = <Of extends Schema>(schema: Of, notes: z.core.GlobalMeta): Of => {
  const noted = schema.clone();
  z.globalRegistry.add(noted, { ...z.globalRegistry.get(schema), ...notes });
  return noted;
};

export const describe = <Of extends Schema>(description: string, schema: Of) => withNotes(schema, { description });
