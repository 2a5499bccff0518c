/** Defines the documents of `serve keys`. */
import * as s from "../document-schemas.ts";
import { describe, list, object, text } from "../document-schemas.ts";

const uses = { projects: describe("empty: all projects", list(text)), uses: list(s.use) };
const added = object({ ...s.sameKeys(text, "name", "key"), ...uses });
const key = object({ name: text, ...uses, created: s.time, revoked: describe("null if valid", s.nullable(s.time)) });

export const outputs: s.Outputs = {
  "serve keys add": ["a new key of the local service, which is never shown again", added],
  "serve keys list": ["the keys of the local service", object({ keys: list(key) }), key],
  "serve keys revoke": ["the owner of the revoked key", object({ revoked: text })],
};
