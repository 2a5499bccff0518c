/** Defines the document of `log`. */
import * as s from "../../output/document-schemas.ts";
import {
  count,
  describe,
  inputKeys,
  list,
  metrics,
  notes,
  nullable,
  object,
  optional,
  optionalAbout,
  text,
} from "../../output/document-schemas.ts";

const outcomes = object({
  read: count,
  logged: describe("by this run", count),
  already_logged: describe("by earlier runs, according to the ledger", count),
  rejected: describe("invalid or refused", count),
  unknown: describe("possibly logged", count),
  not_sent: count,
});

const response = object({
  status: count,
  body: describe("body as received, or null", s.unknown()),
  body_bytes: optional(count),
});

const plannedRequest = object({
  groups: count,
  bytes: describe("before compression", count),
  idempotency_key: describe("null without a key, or if it differs in every run", nullable(text)),
});

const plan = object({
  method: text,
  url: describe("null without a URL, and for --local", nullable(text)),
  headers: describe("without the credential", s.named(text)),
  requests: list(plannedRequest),
});

const log = object({
  status: s.oneOf("logged", "already_logged", "planned", "partial", "not_sent", "unknown"),
  model_id: text,
  split: nullable(text),
  batch: nullable(text),
  requests: count,
  bytes: count,
  groups: outcomes,
  trajectories: outcomes,
  metrics,
  responses: list(response),
  rejects_file: nullable(text),
  ledger: describe("null with --no-ledger", nullable(object({ path: text, created: s.flag }))),
  warnings: s.problems,
  notes,
  metrics_of: optionalAbout(
    "numbers of valid and of logged groups, if not all valid groups are logged",
    object({ groups: count, logged: count }),
  ),
  ...inputKeys,
  plan: optionalAbout("requests of a dry run", plan),
});
export type LogDocument = s.Infer<typeof log>;

export const outputs: s.Outputs = { log: ["the outcomes of all groups", log] };
