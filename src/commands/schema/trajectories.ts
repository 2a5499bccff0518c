/** What `log`, `check`, `convert`, `view` and `ledger` print. */
import type * as z from "zod/mini";
import * as s from "./shape.ts";
import { about, count, list, nullable, object, oneOf, optional, optionalAbout, problems, text } from "./shape.ts";

const outcomes = object({
  read: count,
  logged: about("by this run", count),
  already_logged: about("by runs before, as the ledger says", count),
  rejected: about("not valid, or refused by the service", count),
  unknown: about("they may or may not have been logged", count),
  not_sent: count,
});

const metrics = about("mean values over all valid groups, by name", s.named(s.number));

const filteredOut = object({ trajectories: count, groups: about("of which nothing is left", count) });

/** Keys of a document about inputs, if there is anything to say. */
const inputKeys = {
  unreadable_lines: optionalAbout(
    "lines that can't be read: each counts as a group, of those that are rejected",
    count,
  ),
  not_chosen: optionalAbout(
    "what a choice left out, by the option that did",
    object(s.sameKeys(optional(filteredOut), "where", "best", "sample", "shard")),
  ),
};

const plannedRequest = object({
  groups: count,
  bytes: about("before they are compressed", count),
  idempotency_key: about("null where it goes without one, or with another in every run", nullable(text)),
});

const log = object({
  status: oneOf("logged", "already_logged", "planned", "partial", "not_sent", "unknown"),
  model_id: text,
  split: nullable(text),
  batch: nullable(text),
  requests: count,
  bytes: about("of all requests together", count),
  groups: outcomes,
  trajectories: outcomes,
  metrics,
  responses: list(
    object({ status: count, body: about("the answer as it came, or null", s.anything), body_bytes: optional(count) }),
  ),
  rejects_file: nullable(text),
  ledger: about("null with --no-ledger", nullable(object({ path: text, created: s.flag }))),
  warnings: problems,
  metrics_of: optionalAbout(
    "what the metrics are of, where not all of that is logged: valid groups of the input, and how many of them are",
    object({ groups: count, logged: count }),
  ),
  ...inputKeys,
  plan: optionalAbout(
    "of a dry run: where its requests would go",
    object({
      method: text,
      url: about("null where no address is set, and for --local", nullable(text)),
      headers: about("those of every request, by name; the credential is left out of Authorization", s.named(text)),
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
  problems,
  warnings: about("those of the problems that are warnings", problems),
  ...inputKeys,
  problems_left_out: optionalAbout("problems that were counted and not kept", count),
});

const convert = object({
  status: oneOf("converted"),
  format: about("null where the input was in the interface's own shape", nullable(text)),
  groups: readAndRejected,
  trajectories: readAndRejected,
  out: text,
  rejects_file: nullable(text),
  leaves: about(
    "scalars, and empty lists and objects, of another tool's files",
    nullable(object(s.sameKeys(count, "read", "placed", "left_out"))),
  ),
  left_out: about(
    "values that have no place, by file and path",
    list(object({ file: text, path: text, count, reason: text })),
  ),
  not_chosen: inputKeys.not_chosen,
});

const readAndWritten = object(s.sameKeys(count, "read", "rejected", "written"));

const view = s.either([
  object({ status: oneOf("serving"), url: about("with the token behind #: who has it sees what was read", text) }),
  object({
    status: oneOf("written"),
    file: text,
    bytes: count,
    groups: about(
      "written are as many of those read as a page in a file may hold, rejected are those that are not valid",
      readAndWritten,
    ),
    trajectories: readAndWritten,
    not_chosen: inputKeys.not_chosen,
  }),
]);

const groupStandings = object({
  read: count,
  logged: about("exactly once", count),
  repeated: about("more than once", count),
  ...s.sameKeys(count, "unknown", "refused", "not_sent"),
});

const entry = object({
  id: about("what ledger resolve takes", text),
  state: oneOf("trying", "logged", "refused", "not_sent", "unknown", "assumed_logged", "released"),
  ...s.sameKeys(text, "model_id", "split"),
  batch: nullable(text),
  ...s.sameKeys(count, "groups", "bytes"),
  input: about("the last name of the file that it was made of", text),
  ...s.sameKeys(text, "destination", "account"),
  attempts: count,
  ...s.sameKeys(s.time, "first_tried", "last_tried"),
  status: about("the last status that was answered", nullable(count)),
  cause: about("what was in the way, where nothing was answered", nullable(text)),
  calls: about("how many calls the answer named", count),
});

const loggedCall = object({
  ...s.sameKeys(text, "id", "model_id", "split"),
  batch: nullable(text),
  logged_at: s.time,
  ...s.sameKeys(text, "destination", "account"),
});

const groups = about("null where no files were given", nullable(groupStandings));

const ledgerResolve = object({ resolved: list(text), state: oneOf("assumed_logged", "released") });

const ledgerVerify = object({
  status: oneOf("verified", "differs"),
  groups: groupStandings,
  files: list(object({ file: text, read: count, logged: about("exactly once", count) })),
  problems: s.limitedProblems,
});

const ledgerForget = object({ forgotten: count, left: about("unknown or in flight, and kept", count) });

export type LogDocument = z.infer<typeof log>;
export type CheckDocument = z.infer<typeof check>;
export type ConvertDocument = z.infer<typeof convert>;
export type ViewDocument = z.infer<typeof view>;
export type LedgerEntry = z.infer<typeof entry>;
export type LoggedCall = z.infer<typeof loggedCall>;
export type LedgerResolved = z.infer<typeof ledgerResolve>;
export type LedgerVerified = z.infer<typeof ledgerVerify>;
export type LedgerForgotten = z.infer<typeof ledgerForget>;

export const trajectoriesOutputs: s.Outputs = {
  log: ["what became of every group", log],
  check: ["whether the input is valid, and its metrics", check],
  convert: ["what was made of other tools' files", convert],
  view: ["where a page of rollouts is served, or was written", view],
  "ledger status": ["the requests of the ledger", ...s.listDocument("entries", entry, { groups })],
  "ledger resolve": ["the requests that were settled", ledgerResolve],
  "ledger verify": ["whether every group was logged exactly once", ledgerVerify],
  "ledger forget": ["how many requests were forgotten", ledgerForget],
  "ledger calls": ["the calls that the service's answers named", ...s.listDocument("calls", loggedCall)],
};
