/** Defines the documents of `schema`, and those that all commands print. */

import { exitCodes } from "../../failure.ts";
import * as s from "../../output/document-schemas.ts";
import {
  count,
  describe,
  nullable,
  object,
  oneOf,
  optional,
  optionalAbout,
  sameKeys,
  text,
} from "../../output/document-schemas.ts";

const listed = object({
  name: describe("argument of rollcall schema", text),
  about: text,
  file: describe("file in the package", text),
  line_file: describe("schema of a line of -o jsonl, if it differs", nullable(text)),
});
const list = object({ schemas: s.list(listed) });
export type SchemaListDocument = s.Infer<typeof list>;
const schemas = s.union([list, s.looseObject(sameKeys(text, "$schema", "$id"))]);

const error = object({
  code: s.code,
  message: text,
  exit_code: oneOf(
    ...Object.values(exitCodes).flatMap((exit) => (typeof exit === "number" ? exit : Object.values(exit))),
  ),
  retryable: describe("true if the same command can succeed later", s.flag),
  cause: optionalAbout("code of the failure that stopped the run, if it differs from code", s.code),
  hint: optional(text),
  where: optionalAbout(
    "position of the cause",
    object({ ...s.positionKeys, ...sameKeys(optional(text), "setting", "option", "environment") }),
  ),
  http: optionalAbout(
    "the failed exchange",
    object({
      ...sameKeys(text, "method", "url"),
      status: optional(count),
      said: optionalAbout("message of the service, up to 2000 characters", text),
    }),
  ),
  problems: optional(s.limitedProblems),
  next: optional(text),
});

const outcomes = ["logged", "not_sent", "not_processed", "too_large", "refused", "unknown"];
const event = s.union([
  object({
    event: oneOf("fetching", "checking", "sending", "following"),
    bytes: count,
    ...sameKeys(nullable(count), "of_bytes", "groups"),
  }),
  object({
    event: oneOf(...outcomes.map((outcome) => `request_${outcome}`)),
    again: describe("true if the request is retried", s.flag),
    ...sameKeys(count, "groups", "bytes"),
    reason: describe("status of the answer, or code of the transport error", text),
    requests: describe("requests with an outcome", count),
    of_requests: describe("all requests so far", count),
    attempt: optionalAbout("number of the next attempt", count),
    retry_in_ms: optionalAbout("wait before the next attempt", count),
    max_wait_left_ms: optionalAbout("rest of --max-wait after the wait", count),
  }),
  object({ event: oneOf("notice", "debug"), message: text }),
  object({ event: oneOf("warning"), ...s.problemKeys }),
  object({ event: oneOf("file_waiting", "file_moved", "file_rewritten"), file: text }),
]);
const rejected = object({ ...s.problemKeys, rejects_line: optionalAbout("line in the rejects file", s.position) });

export const outputs: s.Outputs = {
  schema: ["the list of schemas, or one schema", schemas, listed],
  error: ["the last line of standard error for any exit code but 0", object({ error })],
  problem: ["a problem in a result or an error", s.problem],
  rejected: ["a line of a reasons file", rejected],
  event: ["a line of --progress json on standard error", event],
};
