/** Defines the document of `log`. */
import * as s from "../../output/document-schemas.ts";

const outcomes = s.object({
  read: s.count,
  logged: s.describe("by this run", s.count),
  already_logged: s.describe("by earlier runs, according to the ledger", s.count),
  rejected: s.describe("invalid or refused", s.count),
  unknown: s.describe("possibly logged", s.count),
  not_sent: s.count,
});

const plan = s.object({
  method: s.text,
  url: s.describe("null without a URL, and for --local", s.nullable(s.text)),
  headers: s.describe("without the credential", s.named(s.text)),
  requests: s.objects({
    groups: s.count,
    bytes: s.count,
    idempotency_key: s.describe("null without a key, or if it differs in every run", s.nullable(s.text)),
  }),
});

const log = s.object({
  status: s.oneOf("logged", "already_logged", "planned", "partial", "not_sent", "unknown"),
  model_id: s.text,
  split: s.nullable(s.text),
  batch: s.nullable(s.text),
  requests: s.count,
  bytes: s.count,
  groups: outcomes,
  trajectories: outcomes,
  metrics: s.metrics,
  responses: s.objects({
    status: s.count,
    body: s.describe("body as received, or null", s.unknown()),
    body_bytes: s.optional(s.count),
  }),
  rejects_file: s.nullable(s.text),
  ledger: s.describe("null with --no-ledger", s.nullable(s.object({ path: s.text, created: s.flag }))),
  warnings: s.problems,
  notes: s.notes,
  metrics_of: s.optionalAbout(
    "numbers of valid and of logged groups, if not all valid groups are logged",
    s.object({ groups: s.count, logged: s.count }),
  ),
  ...s.inputKeys,
  plan: s.optionalAbout("requests of a dry run", plan),
});
export type LogDocument = s.Infer<typeof log>;

export const outputs: s.Outputs = { log: ["the outcomes of all groups", log] };
