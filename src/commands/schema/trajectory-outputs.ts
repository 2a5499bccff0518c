/** Defines the schemas of `log`, `check`, `convert`, `view` and `ledger`. */
import * as s from "./schema-parts.ts";
import {
  count,
  describe,
  list,
  nullable,
  object,
  oneOf,
  optional,
  optionalAbout,
  sameKeys,
  text,
} from "./schema-parts.ts";

const outcomes = object({
  read: count,
  logged: describe("by this run", count),
  already_logged: describe("by earlier runs, according to the ledger", count),
  rejected: describe("invalid or refused", count),
  unknown: describe("possibly logged", count),
  not_sent: count,
});

const metrics = describe("means over all valid groups", s.named(s.number));
const filteredOut = object({ trajectories: count, groups: describe("groups that lost all their trajectories", count) });
const inputKeys = {
  unreadable_lines: optionalAbout("each counts as a rejected group", count),
  not_chosen: optionalAbout(
    "filtered out, by option",
    object(sameKeys(optional(filteredOut), "where", "best", "sample", "shard")),
  ),
};

const notes = describe("notices, as a person sees them", list(text));

const plannedRequest = object({
  groups: count,
  bytes: describe("before compression", count),
  idempotency_key: describe("null without a key, or if it differs in every run", nullable(text)),
});

const log = object({
  status: oneOf("logged", "already_logged", "planned", "partial", "not_sent", "unknown"),
  model_id: text,
  split: nullable(text),
  batch: nullable(text),
  requests: count,
  bytes: count,
  groups: outcomes,
  trajectories: outcomes,
  metrics,
  responses: list(
    object({
      status: count,
      body: describe("body as received, or null", s.unknown()),
      body_bytes: optional(count),
    }),
  ),
  rejects_file: nullable(text),
  ledger: describe("null with --no-ledger", nullable(object({ path: text, created: s.flag }))),
  warnings: s.problems,
  notes,
  metrics_of: optionalAbout(
    "numbers of valid and of logged groups, if not all valid groups are logged",
    object({ groups: count, logged: count }),
  ),
  ...inputKeys,
  plan: optionalAbout(
    "requests of a dry run",
    object({
      method: text,
      url: describe("null without a URL, and for --local", nullable(text)),
      headers: describe("without the credential", s.named(text)),
      requests: list(plannedRequest),
    }),
  ),
});

const readAndRejected = object({ read: count, rejected: count });
const check = object({
  status: oneOf("valid", "invalid"),
  split: nullable(text),
  groups: readAndRejected,
  trajectories: readAndRejected,
  metrics,
  problems: s.problems,
  warnings: s.problems,
  notes,
  ...inputKeys,
  problems_left_out: optionalAbout("number of further problems", count),
});

const convert = object({
  status: oneOf("converted"),
  format: describe("null for rollcall's format", nullable(text)),
  groups: readAndRejected,
  trajectories: readAndRejected,
  out: text,
  rejects_file: nullable(text),
  leaves: describe(
    "scalars, empty lists and empty objects in the files",
    nullable(object(sameKeys(count, "read", "placed", "left_out"))),
  ),
  left_out: describe(
    "values without a place in a trajectory, by file and path",
    list(object({ file: text, path: text, count, reason: text })),
  ),
  added: describe(
    "values that the files do not have, by file and path in the trajectory; last: in the last choice of a list",
    list(object({ file: text, to: text, reason: text, last: s.flag, count })),
  ),
  not_chosen: inputKeys.not_chosen,
  warnings: s.problems,
  notes,
});

const readAndWritten = object(sameKeys(count, "read", "rejected", "written"));
const view = s.union([
  object({ status: oneOf("serving"), url: describe("has a secret token after #", text) }),
  object({
    status: oneOf("written"),
    file: text,
    bytes: count,
    groups: describe("written: limited by the size of a page; rejected: invalid", readAndWritten),
    trajectories: readAndWritten,
    not_chosen: inputKeys.not_chosen,
    warnings: describe("skipped files", s.problems),
  }),
]);

const ledgerCounts = object({
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

const loggedCall = object({
  ...sameKeys(text, "id", "model_id", "split"),
  batch: nullable(text),
  logged_at: s.time,
  ...sameKeys(text, "destination", "account"),
});

const groups = describe("null without files", nullable(ledgerCounts));
const ledgerResolve = object({ resolved: list(text), state: oneOf("assumed_logged", "released") });
const ledgerForget = object({ forgotten: count, left: describe("unknown or in flight, so not forgotten", count) });
const ledgerVerify = object({
  status: oneOf("verified", "differs"),
  groups: ledgerCounts,
  files: list(object({ file: text, read: count, logged: describe("exactly once", count) })),
  problems: s.limitedProblems,
  warnings: describe("skipped files", s.problems),
});

export const trajectoriesOutputs: s.Outputs = {
  log: ["the outcomes of all groups", log],
  check: ["validity and metrics of the input", check],
  convert: ["the result of a conversion", convert],
  view: ["the URL or file of a page", view],
  "ledger status": ["the requests in the ledger", ...s.listDocument("entries", entry, { groups })],
  "ledger resolve": ["the resolved requests", ledgerResolve],
  "ledger verify": ["the comparison of files with the ledger", ledgerVerify],
  "ledger forget": ["the number of forgotten requests", ledgerForget],
  "ledger calls": ["the logged calls", ...s.listDocument("calls", loggedCall)],
};
