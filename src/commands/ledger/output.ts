/** Defines the documents of `ledger`. */
import * as s from "../../output/document-schemas.ts";
import { count, describe, list, nullable, object, oneOf, sameKeys, text } from "../../output/document-schemas.ts";

const counts = object({
  read: count,
  logged: describe("exactly once", count),
  repeated: describe("more than once", count),
  ...sameKeys(count, "unknown", "refused", "not_sent"),
});

const entry = object({
  id: describe("argument of ledger resolve", text),
  state: oneOf("trying", "logged", "refused", "not_sent", "unknown", "assumed_logged", "released"),
  ...sameKeys(text, "model_id", "split"),
  batch: nullable(text),
  ...sameKeys(count, "groups", "bytes"),
  input: describe("name of the input file, without its folder", text),
  ...sameKeys(text, "destination", "account"),
  attempts: count,
  ...sameKeys(s.time, "first_tried", "last_tried"),
  status: describe("last status of an answer", nullable(count)),
  cause: describe("code of the transport error, without an answer", nullable(text)),
  calls: describe("number of calls in the answer", count),
});
const status = object({ groups: describe("null without files", nullable(counts)), entries: list(entry) });
export type StatusDocument = s.Infer<typeof status>;

const loggedCall = object({
  ...sameKeys(text, "id", "model_id", "split"),
  batch: nullable(text),
  logged_at: s.time,
  ...sameKeys(text, "destination", "account"),
});
const calls = object({ calls: list(loggedCall) });
export type CallsDocument = s.Infer<typeof calls>;

const resolve = object({ resolved: list(text), state: oneOf("assumed_logged", "released") });
export type ResolveDocument = s.Infer<typeof resolve>;

const forget = object({ forgotten: count, left: describe("unknown or in flight, so not forgotten", count) });
export type ForgetDocument = s.Infer<typeof forget>;

const verify = object({
  status: oneOf("verified", "differs"),
  groups: counts,
  files: list(object({ file: text, read: count, logged: describe("exactly once", count) })),
  problems: s.limitedProblems,
  warnings: describe("skipped files", s.problems),
});
export type VerifyDocument = s.Infer<typeof verify>;

export const outputs: s.Outputs = {
  "ledger status": ["the requests in the ledger", status, entry],
  "ledger resolve": ["the resolved requests", resolve],
  "ledger verify": ["the comparison of files with the ledger", verify],
  "ledger forget": ["the number of forgotten requests", forget],
  "ledger calls": ["the logged calls", calls, loggedCall],
};
