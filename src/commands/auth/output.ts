/** Defines the documents of `auth`. */
import * as s from "../../output/document-schemas.ts";

const login = s.object({
  profile: s.text,
  saved: s.list(s.object({ use: s.use, origin: s.text })),
  checked: s.describe("true if the service accepted the key", s.flag),
  next: s.text,
});
export type LoginDocument = s.Infer<typeof login>;

const logout = s.object({ profile: s.text, removed: s.list(s.use) });
export type LogoutDocument = s.Infer<typeof logout>;

const credential = s.object({
  use: s.use,
  origin: s.describe("null without a URL", s.nullable(s.text)),
  state: s.oneOf("ready", "elsewhere", "missing", "no URL"),
  from: s.describe("source of the credential", s.nullable(s.text)),
  username: s.nullable(s.text),
  check: s.describe(
    "answer of the service: untried if no read can test the credential; null without --check",
    s.oneOf("taken", "refused", "unclear", "untried", null),
  ),
});
export type Credential = s.Infer<typeof credential>;
const status = s.object({ profile: s.text, credentials: s.list(credential) });

export const outputs: s.Outputs = {
  "auth login": ["the uses and origins of the saved key", login],
  "auth logout": ["the uses (log, …) of the deleted keys", logout],
  "auth status": ["the credentials by use (log, …)", status, credential],
};
