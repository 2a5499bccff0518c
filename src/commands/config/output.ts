/** Defines the documents of `config`. */
import * as s from "../../output/document-schemas.ts";
import { describe, nullable, object, text } from "../../output/document-schemas.ts";

const setting = object({
  name: text,
  value: describe("null if not set", nullable(text)),
  source: s.oneOf("command line", "environment", "profile", "default", null),
  from: describe("option, variable or file", nullable(text)),
  problem: nullable(text),
});
export type SettingDocument = s.Infer<typeof setting>;
const list = object({ profile: text, settings: s.list(setting) });

export const outputs: s.Outputs = {
  "config list": ["the settings with their sources", list, setting],
  "config get": ["one setting", setting],
  "config path": ["the path of the settings file", object({ settings: text })],
};
