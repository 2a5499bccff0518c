/** All outputs of `--json` with their JSON Schemas. */
import { exitCodes } from "../../failure.ts";
import type { JsonObject } from "../../json/walk.ts";
import { modelsDocuments } from "./models.ts";
import {
  about,
  type Documents,
  either,
  list,
  named,
  nullable,
  object,
  open,
  positionKeys,
  problem,
  problemKeys,
  problems,
  rows,
} from "./shape.ts";

export { passthroughNote } from "./models.ts";

/** Problems of an error document, and of `ledger verify`. */
const limitedProblems = { ...problems, maxItems: 20 };

// log, check, convert and view.

const outcomes = object({
  read: "count",
  logged: "count by this run",
  already_logged: "count by earlier runs, according to the ledger",
  rejected: "count invalid or refused",
  unknown: "count possibly logged",
  not_sent: "count",
});

const metrics = about("means over all valid groups", named("number"));

const filteredOut = object({ trajectories: "count", groups: "count groups without trajectories left" });

const notChosen = about("filtered out, by option", object({ "where? best? sample? shard?": filteredOut }));

const plannedRequest = object({
  groups: "count",
  bytes: "count before compression",
  idempotency_key: "text? null without a key, or if it differs in every run",
});

const plan = object({
  method: "text",
  url: "text? null without a URL, and for --local",
  headers: about("without the credential", named("text")),
  requests: list(plannedRequest),
});

const response = object({ status: "count", body: "any body as received, or null", "body_bytes?": "count" });

const log = object({
  status: "logged|already_logged|planned|partial|not_sent|unknown",
  model_id: "text",
  "split batch": "text?",
  "requests bytes": "count",
  "groups trajectories": outcomes,
  metrics,
  responses: list(response),
  rejects_file: "text?",
  ledger: about("null with --no-ledger", nullable(object({ path: "text", created: "flag" }))),
  warnings: problems,
  "metrics_of?": about(
    "valid and logged groups, if not all valid groups are logged",
    object({ "groups logged": "count" }),
  ),
  "unreadable_lines?": "count each counts as a rejected group",
  "not_chosen?": notChosen,
  "plan?": about("requests of a dry run", plan),
});

const readAndRejected = object({ "read rejected": "count" });

const check = object({
  status: "valid|invalid",
  split: "text?",
  "groups trajectories": readAndRejected,
  metrics,
  "problems warnings": problems,
  "unreadable_lines?": "count each counts as a rejected group",
  "not_chosen?": notChosen,
  "problems_left_out?": "count number of further problems",
});

const convert = object({
  status: "converted",
  format: "text? null for rollcall's format",
  "groups trajectories": readAndRejected,
  out: "text",
  rejects_file: "text?",
  leaves: about(
    "scalars, empty lists and empty objects in the files",
    nullable(object({ "read placed left_out": "count" })),
  ),
  left_out: about(
    "values without a place in a trajectory, by file and path",
    list(object({ "file path": "text", count: "count", reason: "text" })),
  ),
  "not_chosen?": notChosen,
});

const readAndWritten = object({ "read rejected written": "count" });

const view = either(
  object({ status: "serving", url: "text has a secret token after #" }),
  object({
    status: "written",
    file: "text",
    bytes: "count",
    groups: about("written: limited by the size of a page; rejected: invalid", readAndWritten),
    trajectories: readAndWritten,
    "not_chosen?": notChosen,
  }),
);

// ledger.

const groupStandings = object({
  read: "count",
  logged: "count exactly once",
  repeated: "count more than once",
  "unknown refused not_sent": "count",
});

const entry = object({
  id: "text argument of ledger resolve",
  state: "trying|logged|refused|not_sent|unknown|assumed_logged|released",
  "model_id split": "text",
  batch: "text?",
  "groups bytes": "count",
  input: "text last name of the input file",
  "destination account": "text",
  attempts: "count",
  "first_tried last_tried": "time",
  status: nullable(about("last status of an answer", { type: "integer", minimum: 0 })),
  cause: "text? code of the transport error, without an answer",
  calls: "count number of calls in the answer",
});

const loggedCall = object({
  "id model_id split": "text",
  batch: "text?",
  logged_at: "time",
  "destination account": "text",
});

const ledgerVerify = object({
  status: "verified|differs",
  groups: groupStandings,
  files: list(object({ file: "text", read: "count", logged: "count exactly once" })),
  problems: limitedProblems,
});

// auth, config, profile and serve.

const useName = "log|inference|calls";
const uses = list(useName);

const credential = object({
  use: useName,
  origin: "text? null without a URL",
  state: { enum: ["ready", "command", "elsewhere", "missing", "no address"] },
  from: "text? source of the credential",
  username: "text?",
  check:
    "taken|refused|silent|untried? answer of the service: untried if no read accepts the credential; null without --check",
});

const login = object({
  profile: "text",
  saved: list(object({ use: useName, origin: "text" })),
  checked: "flag true if the service accepted the key",
  next: "text the command to try",
});

const setting = object({
  name: "text",
  value: "text? null if not set",
  source: { enum: ["command line", "environment", "profile", "default", null] },
  from: "text? option, variable or file",
  problem: "text? why the value is invalid",
});

const profile = object({
  name: "text",
  in_use: "flag true for the effective profile",
  base_url: "text?",
  keys: about("uses with a saved key", uses),
});

const keyUses = { projects: about("empty: all projects", list("text")), uses };
const key = object({ name: "text", ...keyUses, created: "time", revoked: "time? null if valid" });

// doctor, explain, commands and schema.

const codes = Object.keys(exitCodes).join("|");
const exits = Object.values(exitCodes).flatMap((exit) => (typeof exit === "number" ? exit : Object.values(exit)));

const finding = object({
  check: "text",
  status: "ok|warning|error|skipped",
  message: "text",
  "fix?": "text",
  "code?": `${codes} error code of the run, for an error`,
  "facts?": named("any"),
});

const topic = object({
  name: "text",
  kind: "code|rule",
  about: "text",
  code: `${codes}?`,
  exit_codes: list("count"),
  severity: "error|warning?",
  "example?": "text? a problem of the rule; null for a code",
});

const valueKeys = {
  name: "text placeholder",
  kind: "choice|file|folder|duration|size|number|url|text",
  choices: about("all values; null if others are possible", nullable(list("text"))),
};

const option = object({
  name: "text",
  short: "text?",
  about: "text",
  value: about("null for a flag", nullable(object(valueKeys))),
  default: "text?",
  repeatable: "flag",
  group: "text? heading in the help",
});

const command = object({
  name: "text words after rollcall",
  "about usage": "text",
  arguments: list(object({ ...valueKeys, about: "text", "required repeatable": "flag" })),
  options: about("without the global options", list(option)),
  verbs: about("last words of its verbs", list("text")),
  examples: list("text"),
  schema: "text? argument of rollcall schema; null without a document",
});

const commands = object({
  "name version about": "text",
  options: list(option),
  exit_codes: list(object({ exit_code: "count", code: `${codes}?`, when: "text" })),
  commands: list(command),
});

const schemaEntry = object({
  name: "text argument of rollcall schema",
  about: "text",
  file: "text file in the package",
  line_file: "text? schema of a line of -o jsonl, if it differs",
});

// Shared documents.

const failedExchange = object({
  "method url": "text",
  "status?": "count",
  "said?": "text message of the service, up to 2000 characters",
});

const error = object({
  code: codes,
  message: "text",
  exit_code: { enum: exits },
  retryable: "flag true if the same command can succeed later",
  "cause?": `${codes} code of the failure that stopped the run, if it differs from code`,
  "hint?": "text",
  "where?": about("position of the cause", object({ ...positionKeys, "setting? option? environment?": "text" })),
  "http?": about("the failed exchange", failedExchange),
  "problems?": limitedProblems,
  "next?": "text the next command to run",
});

/** An event of `--progress json`. */
const event = either(
  object({ event: "fetching|checking|sending|following", bytes: "count", "of_bytes groups": "count?" }),
  object({
    event: "request_logged|request_not_sent|request_not_processed|request_too_large|request_refused|request_unknown",
    again: "flag true if the request is retried",
    "groups bytes": "count",
    reason: "text status of the answer, or code of the transport error",
    requests: "count requests with an outcome",
    of_requests: "count all requests so far",
    "attempt?": "count number of the next attempt",
    "retry_in_ms?": "count wait before the next attempt",
    "max_wait_left_ms?": "count rest of --max-wait after the wait",
  }),
  object({ event: "notice|debug", message: "text" }),
  object({ event: "warning", ...problemKeys }),
  object({ event: "file_waiting|file_moved|file_rewritten", file: "text" }),
);

const rejected = object({ ...problemKeys, "rejects_line?": "position line in the rejects file" });

/** Documents of commands in the order of the help, then shared documents. */
const documents: Documents = {
  log: ["the outcomes of all groups", log],
  check: ["validity and metrics of the input", check],
  convert: ["the result of a conversion", convert],
  view: ["the URL or file of a page", view],
  "ledger status": [
    "the requests in the ledger",
    ...rows("entries", entry, { groups: about("null without files", nullable(groupStandings)) }),
  ],
  "ledger resolve": ["the resolved requests", object({ resolved: list("text"), state: "assumed_logged|released" })],
  "ledger verify": ["the comparison of files with the ledger", ledgerVerify],
  "ledger forget": [
    "the number of forgotten requests",
    object({ forgotten: "count", left: "count unknown or in flight, so not forgotten" }),
  ],
  "ledger calls": ["the logged calls", ...rows("calls", loggedCall)],
  ...modelsDocuments,
  "auth login": ["the uses and origins of the saved key", login],
  "auth logout": ["the uses of the deleted keys", object({ profile: "text", removed: uses })],
  "auth status": ["the credential of each use", ...rows("credentials", credential, { profile: "text" })],
  "config list": ["the settings with their sources", ...rows("settings", setting, { profile: "text" })],
  "config get": ["one setting", setting],
  "config path": ["the path of the settings file", object({ settings: "text" })],
  "config export": ["the settings of a profile by name, for config import", named("any")],
  "profile list": ["the profiles that are saved", ...rows("profiles", profile)],
  "profile use": ["the profile that is used by default", object({ profile: "text" })],
  "profile delete": [
    "the deleted profile, and its deleted settings and keys",
    object({ deleted: "text", settings: list("text"), keys: uses }),
  ],
  "profile rename": ["the old and new name of the profile, and its account", object({ "from to account": "text" })],
  "serve keys add": [
    "a new key of the local service, which is never shown again",
    object({ "name key": "text", ...keyUses }),
  ],
  "serve keys list": ["the keys of the local service", ...rows("keys", key)],
  "serve keys revoke": ["the owner of the revoked key", object({ revoked: "text" })],
  doctor: [
    "the findings with their fixes",
    ...rows("findings", finding, { status: "ok|warning|error the worst status of the findings" }),
  ],
  commands: ["the commands with their options, and the exit codes", commands, command],
  explain: ["the meanings of codes and rules, with an example for a name", ...rows("topics", topic)],
  schema: [
    "the list of schemas, or one schema",
    either(object({ schemas: list(schemaEntry) }), open({ "$schema $id": "text" })),
    schemaEntry,
  ],
  error: ["the last line of stderr for any exit code but 0", object({ error })],
  problem: ["a problem in a result or an error", problem],
  rejected: ["a line of a reasons file", rejected],
  event: ["a line of --progress json on stderr", event],
};

export const outputs = Object.entries(documents).map(([name, [about, schema, line]]) => ({
  ...{ name, about, schema, line },
}));
export type Output = (typeof outputs)[number];

/** Returns the file of a schema in the package, and its content. */
export const documentSchema = ({ name, about: description, schema }: Output) =>
  toSchemaFile(name, "", { title: `rollcall ${name}`, description, ...schema });

/** Returns the schema of a line of `-o jsonl`. Default: the schema of the document. */
export const lineSchema = (output: Output): ReturnType<typeof documentSchema> => {
  const { name, line } = output;
  const title = `rollcall ${name}, one line of -o jsonl`;
  return line === undefined ? documentSchema(output) : toSchemaFile(name, ".line", { title, ...line });
};

const toSchemaFile = (name: string, suffix: string, schema: JsonObject) => {
  const file = `${name.replaceAll(" ", "-")}${suffix}`;
  const $id = `urn:rollcall:schema:${file}`;
  return {
    file: `schemas/${file}.json`,
    schema: { $schema: "https://json-schema.org/draft/2020-12/schema", $id, ...schema },
  };
};
