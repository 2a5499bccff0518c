/** Defines the documents of `ledger`. */
import * as s from "../../output/document-schemas.ts";

const counts = s.object({
  read: s.count,
  logged: s.describe("exactly once", s.count),
  repeated: s.describe("more than once", s.count),
  ...s.sameKeys(s.count, "unknown", "refused", "not_sent"),
});

const entry = s.object({
  id: s.describe("argument of ledger resolve", s.text),
  state: s.oneOf("trying", "logged", "refused", "not_sent", "unknown", "assumed_logged", "released"),
  ...s.sameKeys(s.text, "model_id", "split"),
  batch: s.nullable(s.text),
  ...s.sameKeys(s.count, "groups", "bytes"),
  input: s.describe("name of the input file, without its folder", s.text),
  ...s.sameKeys(s.text, "destination", "account"),
  attempts: s.count,
  ...s.sameKeys(s.time, "first_tried", "last_tried"),
  status: s.describe("last status of an answer", s.nullable(s.count)),
  cause: s.describe("code of the transport error, without an answer", s.nullable(s.text)),
  calls: s.describe("number of calls in the answer", s.count),
});
const status = s.object({ groups: s.describe("null without files", s.nullable(counts)), entries: s.list(entry) });
export type StatusDocument = s.Infer<typeof status>;

const loggedCall = s.object({
  ...s.sameKeys(s.text, "id", "model_id", "split"),
  batch: s.nullable(s.text),
  logged_at: s.time,
  ...s.sameKeys(s.text, "destination", "account"),
});
const calls = s.object({ calls: s.list(loggedCall) });
export type CallsDocument = s.Infer<typeof calls>;

const resolve = s.object({ resolved: s.list(s.text), state: s.oneOf("assumed_logged", "released") });
export type ResolveDocument = s.Infer<typeof resolve>;

const forget = s.object({ forgotten: s.count, left: s.describe("unknown or in flight, so not forgotten", s.count) });
export type ForgetDocument = s.Infer<typeof forget>;

const verify = s.object({
  status: s.oneOf("verified", "differs"),
  groups: counts,
  files: s.list(s.object({ file: s.text, read: s.count, logged: s.describe("exactly once", s.count) })),
  problems: s.limitedProblems,
  warnings: s.describe("skipped files", s.problems),
});
export type VerifyDocument = s.Infer<typeof verify>;

export const outputs: s.Outputs = {
  "ledger status": ["the requests in the ledger", status, entry],
  "ledger resolve": ["the resolved requests", resolve],
  "ledger verify": ["the comparison of files with the ledger", verify],
  "ledger forget": ["the number of forgotten requests", forget],
  "ledger calls": ["the logged calls", calls, loggedCall],
};
