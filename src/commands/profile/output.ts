/** Defines the documents of `profile`. */
import * as s from "../../output/document-schemas.ts";
import { object, text } from "../../output/document-schemas.ts";

const profile = object({
  name: text,
  in_use: s.flag,
  base_url: s.nullable(text),
  keys: s.describe("uses with a saved key", s.list(s.use)),
});
const list = object({ profiles: s.list(profile) });
export type ProfileListDocument = s.Infer<typeof list>;
const deleted = object({ deleted: text, settings: s.list(text), keys: s.list(s.use) });
export type ProfileDeleteDocument = s.Infer<typeof deleted>;

export const outputs: s.Outputs = {
  "profile list": ["the saved profiles", list, profile],
  "profile use": ["the default profile", object({ profile: text })],
  "profile delete": ["the deleted profile, and its deleted settings and keys", deleted],
};
