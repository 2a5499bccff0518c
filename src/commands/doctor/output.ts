/** Defines the document of `doctor`. */
import * as s from "../../output/document-schemas.ts";
import { oneOf, optional, optionalAbout, text } from "../../output/document-schemas.ts";

const finding = s.object({
  check: text,
  status: oneOf("ok", "warning", "error", "skipped"),
  message: text,
  fix: optional(text),
  code: optionalAbout("error code of the run, for an error", s.code),
  facts: optional(s.named(s.unknown())),
});
export type DoctorFinding = s.Infer<typeof finding>;

const doctor = s.object({
  status: s.describe("the worst status of the findings", oneOf("ok", "warning", "error")),
  findings: s.list(finding),
});
export type DoctorDocument = s.Infer<typeof doctor>;

export const outputs: s.Outputs = { doctor: ["the findings with their fixes", doctor, finding] };
