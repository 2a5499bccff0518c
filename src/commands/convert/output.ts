/** Defines the document of `convert`. */
import * as s from "../../output/document-schemas.ts";
import {
  count,
  describe,
  inputKeys,
  list,
  notes,
  nullable,
  object,
  readAndRejected,
  text,
} from "../../output/document-schemas.ts";

const convert = object({
  status: s.oneOf("converted"),
  format: describe("null for rollcall's format", nullable(text)),
  groups: readAndRejected,
  trajectories: readAndRejected,
  out: text,
  rejects_file: nullable(text),
  leaves: describe(
    "scalars, empty lists and empty objects in the files",
    nullable(object(s.sameKeys(count, "read", "placed", "left_out"))),
  ),
  left_out: describe(
    "values without a place in a trajectory, by file and path",
    list(object({ file: text, path: text, count, reason: text })),
  ),
  added: describe(
    "values that the files do not have, by file and path in the trajectory",
    list(object({ file: text, to: text, reason: text, count })),
  ),
  rows: s.optionalAbout(
    "of --to messages or preferences",
    object({
      written: count,
      truncated: describe("rows with a trajectory whose last choice was cut off", count),
      missing: describe("trajectories or groups without a row, by reason (docs/guide/fine-tuning.md)", s.named(count)),
    }),
  ),
  redacted: s.optionalAbout(
    "secrets replaced by --redact, by kind and path in the output",
    list(object({ kind: text, path: text, count })),
  ),
  not_chosen: inputKeys.not_chosen,
  warnings: s.problems,
  notes,
});
export type ConvertDocument = s.Infer<typeof convert>;

export const outputs: s.Outputs = { convert: ["the result of a conversion", convert] };
