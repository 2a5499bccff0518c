/** Defines the documents of `call read`. */
import * as s from "../../output/document-schemas.ts";
import { count, describe, list, nullable, object, sameKeys, text } from "../../output/document-schemas.ts";

const sentTime = s.sent("a date and time, ISO 8601");

/** A call (interface 2.4). Assumed: the prefix `vendor` varies between services (setting `vendor_prefix`). */
const call = describe(
  `a call ${s.passthroughNote}; vendor_ is the prefix of the deployment`,
  s.looseObject({
    ...sameKeys(s.sentText, "id", "project_id", "op_name", "trace_id"),
    started_at: sentTime,
    ...sameKeys(s.sentObject, "attributes", "inputs"),
    ...sameKeys(s.sentText, "display_name", "parent_id", "thread_id", "turn_id"),
    ended_at: sentTime,
    exception: s.sentText,
    output: s.optional(s.unknown()),
    summary: s.sentObject,
    ...sameKeys(s.sentText, "vendor_user_id", "vendor_username", "vendor_run_id"),
    ...sameKeys(s.sentInteger, "vendor_run_step", "vendor_run_step_end"),
    deleted_at: sentTime,
    ...sameKeys(s.sentInteger, "storage_size_bytes", "total_storage_size_bytes"),
  }),
);

const counts = {
  ...sameKeys(count, "calls", "ok", "failed", "running", "deleted"),
  seconds: describe(
    "percentiles of known durations, by nearest rank; calls: the number of calls with a known duration",
    object({ calls: count, ...sameKeys(nullable(s.number), "p50", "p95") }),
  ),
  tokens: describe(
    "sums of known tokens; calls: the number of calls that have them",
    object({ calls: count, ...sameKeys(nullable(count), "prompt", "completion", "total") }),
  ),
};
const cost = s.optionalAbout(
  "sum of known costs; calls: the number of calls with a known cost",
  object({ calls: count, usd: nullable(s.number) }),
);
const group = object({ ...sameKeys(nullable(text), "op", "model"), ...counts, cost });
const summary = object({
  summary: object({ ...counts, missing: describe("number of ids without a call", count), cost }),
  groups: describe("by operation and model; a call of several models counts for each", list(group)),
  notes: s.optionalAbout("notices about counts that are not exact", list(text)),
});
const read = s.union([
  describe("the answer, with its other keys", s.looseObject({ call })),
  object({ calls: list(call) }),
  describe("with --summary", summary),
  describe("with --path: the value, or the list of the values of several calls", s.unknown()),
]);

export const outputs: s.Outputs = {
  "call read": [
    "one call, or a list of calls",
    read,
    s.union([call, describe("with --summary", group), describe("with --path", s.unknown())]),
  ],
};
