/** Defines the document of `check`. */
import * as s from "../../output/document-schemas.ts";

const check = s.object({
  status: s.oneOf("valid", "invalid"),
  split: s.nullable(s.text),
  groups: s.readAndRejected,
  trajectories: s.readAndRejected,
  metrics: s.metrics,
  problems: s.problems,
  warnings: s.problems,
  notes: s.notes,
  ...s.inputKeys,
  problems_left_out: s.optionalAbout("number of further problems", s.count),
});
export type CheckDocument = s.Infer<typeof check>;

export const outputs: s.Outputs = { check: ["validity and metrics of the input", check] };
