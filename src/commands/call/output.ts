/** Defines the documents of `call read`. */
import * as s from "../../output/document-schemas.ts";

const sentTime = s.sent("a date and time, ISO 8601");

/** A call (interface 2.4). Assumed: the prefix `vendor` varies between services (setting `vendor_prefix`). */
const call = s.describe(
  `a call ${s.passthroughNote}; vendor_ is the prefix of the deployment`,
  s.looseObject({
    ...s.sameKeys(s.sentText, "id", "project_id", "op_name", "trace_id"),
    started_at: sentTime,
    ...s.sameKeys(s.sentObject, "attributes", "inputs"),
    ...s.sameKeys(s.sentText, "display_name", "parent_id", "thread_id", "turn_id"),
    ended_at: sentTime,
    exception: s.sentText,
    output: s.optional(s.unknown()),
    summary: s.sentObject,
    ...s.sameKeys(s.sentText, "vendor_user_id", "vendor_username", "vendor_run_id"),
    ...s.sameKeys(s.sentInteger, "vendor_run_step", "vendor_run_step_end"),
    deleted_at: sentTime,
    ...s.sameKeys(s.sentInteger, "storage_size_bytes", "total_storage_size_bytes"),
  }),
);

const read = s.union([
  s.describe("the answer, with its other keys", s.looseObject({ call })),
  s.object({ calls: s.list(call) }),
  s.describe("with --path: the value, or the list of the values of several calls", s.unknown()),
]);

export const outputs: s.Outputs = {
  "call read": [
    "one call, or a list of calls",
    read,
    s.union([call, s.describe("with --path", s.unknown())]),
    () => call,
  ],
};
