/** The service's error bodies (interface 7). */
import * as z from "zod/mini";

/**
 * One item of a validation error (interface 7).
 * Assumed: `loc` mixes strings and array positions, although the interface says strings.
 */
export const ValidationItem = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
  input: z.optional(z.unknown()),
  ctx: z.optional(z.record(z.string(), z.unknown())),
});
export type ValidationItem = z.infer<typeof ValidationItem>;

/** The body of a validation error (interface 7). */
export const ValidationError = z.looseObject({ detail: z.array(ValidationItem) });
export type ValidationError = z.infer<typeof ValidationError>;
