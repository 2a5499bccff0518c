/** Defines the documents of `config`. */
import * as s from "../../output/document-schemas.ts";

const setting = s.object({
  name: s.text,
  value: s.describe("null if not set", s.nullable(s.text)),
  source: s.oneOf("command line", "environment", "profile", "default", null),
  from: s.describe("option, variable or file", s.nullable(s.text)),
  problem: s.nullable(s.text),
});
export type SettingDocument = s.Infer<typeof setting>;
const notes = s.optionalAbout("notices about unknown settings", s.list(s.text));
const list = s.object({ profile: s.text, settings: s.list(setting), notes });

export const outputs: s.Outputs = {
  "config list": ["the settings with their sources", list, setting],
};
