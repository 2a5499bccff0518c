/** Where a group stands, for a person. */
import type { Reading } from "./read.ts";

/** The file and line of a group's first part. */
export const spotOfGroup = (
  { groups, found, sources }: Reading,
  group: number,
): { readonly file: string; readonly line: number } => {
  const part = found.parts.at(groups.firstOf(group));
  return { file: sources[part.source]?.name ?? "the input", line: part.line };
};
