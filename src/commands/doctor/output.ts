/** Defines the document of `doctor`. */
import * as s from "../../output/document-schemas.ts";

const finding = s.object({
  check: s.text,
  status: s.oneOf("ok", "warning", "error", "skipped"),
  message: s.text,
  fix: s.optional(s.text),
  code: s.optionalAbout("error code of the run, for an error", s.code),
  facts: s.optional(s.named(s.unknown())),
});
export type DoctorFinding = s.Infer<typeof finding>;

const doctor = s.object({
  status: s.describe("the worst status of the findings", s.oneOf("ok", "warning", "error")),
  findings: s.list(finding),
});
export type DoctorDocument = s.Infer<typeof doctor>;

export const outputs: s.Outputs = { doctor: ["the findings with their fixes", doctor, finding] };
