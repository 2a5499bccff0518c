/** Defines the document of `convert`. */
import * as s from "../../output/document-schemas.ts";

const convert = s.object({
  status: s.oneOf("converted"),
  format: s.describe("null for rollcall's format", s.nullable(s.text)),
  groups: s.readAndRejected,
  trajectories: s.readAndRejected,
  out: s.text,
  rejects_file: s.nullable(s.text),
  leaves: s.describe(
    "scalars, empty lists and empty objects in the files",
    s.nullable(s.object(s.sameKeys(s.count, "read", "placed", "left_out"))),
  ),
  left_out: s.objectsAbout("values without a place in a trajectory, by file and path", {
    ...s.sameKeys(s.text, "file", "path", "reason"),
    count: s.count,
  }),
  added: s.objectsAbout("values that the files do not have, by file and path in the trajectory", {
    ...s.sameKeys(s.text, "file", "to", "reason"),
    count: s.count,
  }),
  warnings: s.problems,
  notes: s.notes,
});
export type ConvertDocument = s.Infer<typeof convert>;

export const outputs: s.Outputs = { convert: ["the result of a conversion", convert] };
