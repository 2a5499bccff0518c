/** Defines the documents of `schema`, and those that all commands print. */

import { exitCodes } from "../../failure.ts";
import * as s from "../../output/document-schemas.ts";

const listed = s.object({
  name: s.describe("argument of rollcall schema", s.text),
  about: s.text,
  file: s.describe("file in the package", s.text),
  line_file: s.describe("schema of a line of -o jsonl, if it differs", s.nullable(s.text)),
});
const list = s.object({ schemas: s.list(listed) });
export type SchemaListDocument = s.Infer<typeof list>;
const schema = s.looseObject(s.sameKeys(s.text, "$schema", "$id"));

const error = s.object({
  code: s.code,
  message: s.text,
  exit_code: s.oneOf(
    ...Object.values(exitCodes).flatMap((exit) => (typeof exit === "number" ? exit : Object.values(exit))),
  ),
  retryable: s.describe("true if the same command can succeed later", s.flag),
  cause: s.optionalAbout("code of the failure that stopped the run, if it differs from code", s.code),
  hint: s.optional(s.text),
  where: s.optionalAbout(
    "position of the cause",
    s.object({ ...s.positionKeys, ...s.sameKeys(s.optional(s.text), "setting", "option", "environment") }),
  ),
  http: s.optionalAbout(
    "the failed exchange",
    s.object({
      ...s.sameKeys(s.text, "method", "url"),
      status: s.optional(s.count),
      said: s.optionalAbout("message of the service, up to 2000 characters", s.text),
    }),
  ),
  problems: s.optional(s.limitedProblems),
  next: s.optional(s.text),
});

const outcomes = ["logged", "not_sent", "not_processed", "too_large", "refused", "unknown"];
const event = s.union([
  s.object({
    event: s.oneOf("fetching", "checking", "sending", "following"),
    bytes: s.count,
    ...s.sameKeys(s.nullable(s.count), "of_bytes", "groups"),
  }),
  s.object({
    event: s.oneOf(...outcomes.map((outcome) => `request_${outcome}`)),
    again: s.describe("true if the request is retried", s.flag),
    ...s.sameKeys(s.count, "groups", "bytes"),
    reason: s.describe("status of the answer, or code of the transport error", s.text),
    requests: s.describe("requests with an outcome", s.count),
    of_requests: s.describe("all requests so far", s.count),
    attempt: s.optionalAbout("number of the next attempt", s.count),
    retry_in_ms: s.optionalAbout("wait before the next attempt", s.count),
    max_wait_left_ms: s.optionalAbout("rest of --max-wait after the wait", s.count),
  }),
  s.object({ event: s.oneOf("notice", "debug"), message: s.text }),
  s.object({ event: s.oneOf("warning"), ...s.problemKeys }),
  s.object({ event: s.oneOf("file_waiting", "file_moved", "file_rewritten"), file: s.text }),
]);
const rejected = s.object({
  ...s.problemKeys,
  rejects_line: s.optionalAbout("line in the rejects file", s.position),
  checksums: s.optionalAbout(
    "in the last line: of the reasons, of the rejected lines after and before the write, and of the ledger's path",
    s.list(s.count),
  ),
});

export const outputs: s.Outputs = {
  schema: ["the list of schemas, or one schema", s.union([list, schema]), s.union([listed, schema])],
  error: ["the last line of standard error for any exit code but 0", s.object({ error })],
  problem: ["a problem in a result or an error", s.problem],
  rejected: ["a line of a reasons file", rejected],
  event: ["a line of --progress json on standard error", event],
};
