/** Defines the documents of `profile`. */
import * as s from "../../output/document-schemas.ts";

const profile = s.object({
  name: s.text,
  in_use: s.flag,
  base_url: s.nullable(s.text),
  keys: s.describe("uses with a saved key", s.list(s.use)),
});
const list = s.object({ profiles: s.list(profile) });
export type ProfileListDocument = s.Infer<typeof list>;
const deleted = s.object({ deleted: s.text, settings: s.list(s.text), keys: s.list(s.use) });
export type ProfileDeleteDocument = s.Infer<typeof deleted>;

export const outputs: s.Outputs = {
  "profile list": ["the saved profiles", list, profile],
  "profile delete": ["the deleted profile, and its deleted settings and keys", deleted],
};
