/** What `log`, `check` and `ledger` print. */
import { problem, problems } from "./problem.ts";
import {
  about,
  anything,
  count,
  flag,
  list,
  moment,
  named,
  nullable,
  number,
  type Output,
  object,
  oneOf,
  type Schema,
  text,
} from "./shape.ts";

const fates = object({
  read: count,
  logged: about("by this run", count),
  already_logged: about("by runs before, as the ledger says", count),
  rejected: about("not valid, or refused by the service", count),
  unknown: about("they may or may not have been logged", count),
  not_sent: count,
});

const metrics = about("mean values over all valid groups, by name", named(number));

const leftOut = object({ trajectories: count, groups: about("of which nothing is left", count) });

const notChosen = about(
  "what a choice left out, by the option that did",
  object({}, { where: leftOut, best: leftOut, sample: leftOut, shard: leftOut }),
);

const unreadable = about("lines that can't be read: each counts as a group, of those that are rejected", count);

const log: Schema = object(
  {
    status: oneOf("logged", "already_logged", "planned", "partial", "not_sent", "unknown"),
    model_id: text,
    split: nullable(text),
    batch: nullable(text),
    requests: count,
    bytes: about("of all requests together", count),
    groups: fates,
    trajectories: fates,
    metrics,
    responses: list(
      object({ status: count, body: about("the answer as it came, or null", anything) }, { body_bytes: count }),
    ),
    rejects_file: nullable(text),
    ledger: about("null with --no-ledger", nullable(object({ path: text, created: flag }))),
    warnings: problems,
  },
  {
    metrics_of: about(
      "what the metrics are of, where not all of that is logged: valid groups of the input, and how many of them are",
      object({ groups: count, logged: count }),
    ),
    unreadable_lines: unreadable,
    not_chosen: notChosen,
    plan: about(
      "of a dry run: where its requests would go",
      object({
        method: text,
        url: about("null where no address is set, and for --local", nullable(text)),
        headers: about("those of every request, by name; the credential is left out of Authorization", named(text)),
        requests: list(
          object({
            groups: count,
            bytes: about("before they are compressed", count),
            idempotency_key: about("null where it goes without one, or with another in every run", nullable(text)),
          }),
        ),
      }),
    ),
  },
);

const readAndRejected = object({ read: count, rejected: count });

const check: Schema = object(
  {
    status: oneOf("valid", "invalid"),
    split: nullable(text),
    groups: readAndRejected,
    trajectories: readAndRejected,
    metrics,
    problems,
    warnings: about("those of the problems that are warnings", problems),
  },
  {
    unreadable_lines: unreadable,
    not_chosen: notChosen,
    problems_left_out: about("problems that were counted and not kept", count),
  },
);

const convert: Schema = object(
  {
    status: oneOf("converted"),
    format: about("null where the input was in the interface's own shape", nullable(text)),
    groups: readAndRejected,
    trajectories: readAndRejected,
    out: text,
    rejects_file: nullable(text),
    leaves: about(
      "scalars, and empty lists and objects, of another tool's files",
      nullable(object({ read: count, placed: count, left_out: count })),
    ),
    left_out: about(
      "values that have no place, by file and path",
      list(object({ file: text, path: text, count, reason: text })),
    ),
  },
  { not_chosen: notChosen },
);

const readAndWritten = object({ read: count, rejected: count, written: count });

const view: Schema = {
  anyOf: [
    object({
      status: oneOf("serving"),
      url: about("with the token behind #: who has it sees what was read", text),
    }),
    object(
      {
        status: oneOf("written"),
        file: text,
        bytes: count,
        groups: about(
          "written are as many of those read as a page in a file may hold, rejected are those that are not valid",
          readAndWritten,
        ),
        trajectories: readAndWritten,
      },
      { not_chosen: notChosen },
    ),
  ],
};

const standing = object({
  read: count,
  logged: about("exactly once", count),
  repeated: about("more than once", count),
  unknown: count,
  refused: count,
  not_sent: count,
});

const entry = object({
  id: about("what ledger resolve takes", text),
  state: oneOf("trying", "logged", "refused", "not_sent", "unknown", "assumed_logged", "released"),
  model_id: text,
  split: text,
  batch: nullable(text),
  groups: count,
  bytes: count,
  input: about("the last name of the file that it was made of", text),
  destination: text,
  account: text,
  attempts: count,
  first_tried: moment,
  last_tried: moment,
  status: about("the last status that was answered", nullable(count)),
  cause: about("what was in the way, where nothing was answered", nullable(text)),
  calls: about("how many calls the answer named", count),
});

const call = object({
  id: text,
  model_id: text,
  split: text,
  batch: nullable(text),
  logged_at: moment,
  destination: text,
  account: text,
});

/** The outputs. */
export const trajectoriesOutputs: readonly Output[] = [
  { name: "log", about: "what became of every group", schema: { ...log, $defs: { problem } } },
  { name: "check", about: "whether the input is valid, and its metrics", schema: { ...check, $defs: { problem } } },
  { name: "convert", about: "what was made of other tools' files", schema: convert },
  { name: "view", about: "where a page of rollouts is served, or was written", schema: view },
  {
    name: "ledger status",
    about: "the requests of the ledger",
    schema: object({ groups: about("null where no files were given", nullable(standing)), entries: list(entry) }),
    line: entry,
  },
  {
    name: "ledger resolve",
    about: "the requests that were settled",
    schema: object({ resolved: list(text), state: oneOf("assumed_logged", "released") }),
  },
  {
    name: "ledger verify",
    about: "whether every group was logged exactly once",
    schema: {
      ...object({
        status: oneOf("verified", "differs"),
        groups: standing,
        files: list(object({ file: text, read: count, logged: about("exactly once", count) })),
        problems: { ...problems, maxItems: 20 },
      }),
      $defs: { problem },
    },
  },
  {
    name: "ledger forget",
    about: "how many requests were forgotten",
    schema: object({ forgotten: count, left: about("unknown or in flight, and kept", count) }),
  },
  {
    name: "ledger calls",
    about: "the calls that the service's answers named",
    schema: object({ calls: list(call) }),
    line: call,
  },
];
