/** Defines the documents of `auth`. */
import * as s from "../../output/document-schemas.ts";
import { describe, list, nullable, object, oneOf, text } from "../../output/document-schemas.ts";

const login = object({
  profile: text,
  saved: list(object({ use: s.use, origin: text })),
  checked: describe("true if the service accepted the key", s.flag),
  next: text,
});
export type LoginDocument = s.Infer<typeof login>;

const logout = object({ profile: text, removed: list(s.use) });
export type LogoutDocument = s.Infer<typeof logout>;

const credential = object({
  use: s.use,
  origin: describe("null without a URL", nullable(text)),
  state: oneOf("ready", "command", "elsewhere", "missing", "no URL"),
  from: describe("source of the credential", nullable(text)),
  username: nullable(text),
  check: describe(
    "answer of the service: untried if no read can test the credential; null without --check",
    oneOf("taken", "refused", "unclear", "untried", null),
  ),
});
export type Credential = s.Infer<typeof credential>;
const status = object({ profile: text, credentials: list(credential) });

export const outputs: s.Outputs = {
  "auth login": ["the uses and origins of the saved key", login],
  "auth logout": ["the uses (log, …) of the deleted keys", logout],
  "auth status": ["the credentials by use (log, …)", status, credential],
};
