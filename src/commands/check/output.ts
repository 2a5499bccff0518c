/** Defines the document of `check`. */
import * as s from "../../output/document-schemas.ts";
import {
  count,
  inputKeys,
  metrics,
  notes,
  object,
  optionalAbout,
  readAndRejected,
} from "../../output/document-schemas.ts";

const check = object({
  status: s.oneOf("valid", "invalid"),
  split: s.nullable(s.text),
  groups: readAndRejected,
  trajectories: readAndRejected,
  metrics,
  problems: s.problems,
  warnings: s.problems,
  notes,
  ...inputKeys,
  problems_left_out: optionalAbout("number of further problems", count),
});
export type CheckDocument = s.Infer<typeof check>;

export const outputs: s.Outputs = { check: ["validity and metrics of the input", check] };
