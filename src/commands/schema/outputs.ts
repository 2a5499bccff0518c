/** Lists the outputs of `--json` with their JSON Schemas. */

import * as z from "zod/mini";
import { Call } from "../../contract/call.ts";
import { CatalogModel, InferenceModel } from "../../contract/models.ts";
import { exitCodes } from "../../failure.ts";
import { invalidOptionValue } from "../../failures.ts";
import { isObject } from "../../json/json-bytes.ts";
import { findNearest } from "../../nearest.ts";
import * as s from "./schema-parts.ts";
import { trajectoriesOutputs } from "./trajectory-outputs.ts";

const { count, describe, flag, list, listDocument, nullable, object, oneOf, optional, optionalAbout } = s;
const { sameKeys, text } = s;

export const passthroughNote =
  "as the service sent it, including unknown keys, invalid values and the spelling of numbers";
const inferenceModel = describe(`a model ${passthroughNote}`, InferenceModel);
const catalogModel = describe(`a model ${passthroughNote}`, CatalogModel);
const call = describe(`a call ${passthroughNote}; vendor_ is the prefix of the deployment`, Call);

const catalogName = oneOf("analysis", "router");
const catalogOrNull = oneOf("analysis", "router", null);
const notes = optionalAbout("notices about an incomplete list", list(text));
const catalog = s.looseObject({ data: z.array(catalogModel), notes });
const catalogRows = (row: z.ZodMiniType) => object({ catalogs: list(catalogName), data: list(row), notes });
const entry = object({ catalog: catalogName, entry: catalogModel });
const entryRows = catalogRows(entry);
const priced = object({ model: inferenceModel, catalog: catalogOrNull, entry: nullable(catalogModel) });
const models = s.union([
  s.looseObject({ object: optionalAbout('"list"', nullable(text)), data: z.array(inferenceModel), notes }),
  describe("with --with-prices", catalogRows(priced)),
]);

const callCounts = {
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
const cost = optionalAbout(
  "sum of known costs; calls: the number of calls with a known cost",
  object({ calls: count, usd: nullable(s.number) }),
);
const callGroup = object({ ...sameKeys(nullable(text), "op", "model"), ...callCounts, cost });
const callSummary = object({
  summary: object({ ...callCounts, missing: describe("number of ids without a call", count), cost }),
  groups: describe("by operation and model; a call of several models counts for each", list(callGroup)),
  notes: optionalAbout("notices about counts that are not exact", list(text)),
});
const callsRead = s.union([
  describe("the answer, with its other keys", s.looseObject({ call })),
  object({ calls: list(call) }),
  describe("with --summary", callSummary),
]);

const comparedCatalog = object({
  catalog: describe("null for a file", catalogOrNull),
  ...sameKeys(nullable(text), "provider", "file"),
  partial: describe("true if the service sent only a part of the list; no model counts as added or gone then", flag),
  as_of: describe("time of the catalog; null for a file", nullable(s.time)),
});

const change = object({
  catalog: describe("null if two catalogs or files are compared", catalogOrNull),
  id: text,
  name: nullable(text),
  change: describe(
    "added: only in the second catalog; gone: only in the first",
    oneOf(
      ...["added", "gone", "price", "context", "output", "quantization", "modalities", "features", "parameters"],
      ...["countries", "deprecation"],
    ),
  ),
  field: describe("name on the wire, such as pricing.prompt; null for an added or gone model", nullable(text)),
  from: describe("value on the wire; null if absent", s.unknown()),
  to: s.unknown(),
});

const diff = object({
  compared: list(
    object({
      ...sameKeys(comparedCatalog, "from", "to"),
      models: object(sameKeys(count, "from", "to", "same", "without_id")),
    }),
  ),
  changes: list(change),
  notes,
});

const dollars = text.check(z.regex(/^[0-9]+(\.[0-9]+)?$/));
const usage = object({
  prompt_tokens: count,
  cached_tokens: describe("part of the prompt tokens", count),
  cache_write_tokens: describe("another part of the prompt tokens", count),
  ...sameKeys(count, "completion_tokens", "images", "requests"),
  from: oneOf("options", "call"),
});

const costOfModel = object({
  catalog: catalogName,
  ...sameKeys(nullable(text), "id", "name"),
  deprecation_date: describe("YYYY-MM-DD", nullable(text)),
  ended: describe("true if deprecation_date has passed; such models are last", flag),
  total: describe("exact US dollars; null if it is unknown", nullable(dollars)),
  at_least: describe("sum of the known prices", dollars),
  not_stated: describe("names of prices that are missing or unknown", list(text)),
  reason: describe("why the total is unknown", nullable(text)),
  items: list(object({ price: text, count, ...sameKeys(nullable(dollars), "unit_price", "cost") })),
});
const lock = object({
  file: text,
  changed: describe("true if the file was rewritten", flag),
  models: list(object({ catalog: catalogName, id: text })),
  notes,
});
const pricePerMillion = describe("US dollars per million tokens", dollars);
const replacement = object({ id: text, ...sameKeys(pricePerMillion, "prompt", "completion") });
const verification = object({
  status: oneOf("verified", "differs"),
  file: text,
  models: count,
  problems: s.problems,
  replacements: describe(
    "the cheapest equivalent of each model with an error",
    list(object({ catalog: catalogName, id: text, replacement: nullable(replacement) })),
  ),
  notes,
});

const useName = oneOf("log", "inference", "calls");
const code = oneOf(...Object.keys(exitCodes));

const credential = object({
  use: useName,
  origin: describe("null without a URL", nullable(text)),
  state: oneOf("ready", "command", "elsewhere", "missing", "no URL"),
  from: describe("source of the credential", nullable(text)),
  username: nullable(text),
  check: describe(
    "answer of the service: untried if no read can test the credential; null without --check",
    oneOf("taken", "refused", "unclear", "untried", null),
  ),
});

const login = object({
  profile: text,
  saved: list(object({ use: useName, origin: text })),
  checked: describe("true if the service accepted the key", flag),
  next: text,
});

const setting = object({
  name: text,
  value: describe("null if not set", nullable(text)),
  source: oneOf("command line", "environment", "profile", "default", null),
  from: describe("option, variable or file", nullable(text)),
  problem: nullable(text),
});

const profile = object({
  name: text,
  in_use: flag,
  base_url: nullable(text),
  keys: describe("uses with a saved key", list(useName)),
});

const renamed = object(sameKeys(text, "from", "to", "account"));
const deleted = object({ deleted: text, settings: list(text), keys: list(useName) });
const uses = { projects: describe("empty: all projects", list(text)), uses: list(useName) };
const addedKey = object({ ...sameKeys(text, "name", "key"), ...uses });
const key = object({ name: text, ...uses, created: s.time, revoked: describe("null if valid", nullable(s.time)) });

const doctorFinding = object({
  check: text,
  status: oneOf("ok", "warning", "error", "skipped"),
  message: text,
  fix: optional(text),
  code: optionalAbout("error code of the run, for an error", code),
  facts: optional(s.named(s.unknown())),
});
const worstStatus = describe("the worst status of the findings", oneOf("ok", "warning", "error"));

const topic = object({
  name: text,
  kind: oneOf("code", "rule"),
  about: text,
  code: nullable(code),
  exit_codes: list(count),
  severity: oneOf("error", "warning", null),
  example: optionalAbout("a problem of the rule; null without an example", nullable(text)),
});

const valueKeys = {
  name: describe("placeholder", text),
  kind: oneOf("choice", "file", "folder", "duration", "size", "number", "url", "text"),
  choices: describe("all values; null if others are possible", nullable(list(text))),
};

const option = s.shared(
  "option",
  object({
    name: text,
    short: nullable(text),
    about: text,
    value: describe("null for a flag", nullable(object(valueKeys))),
    default: nullable(text),
    repeatable: flag,
    group: describe("heading in the help", nullable(text)),
  }),
);

const command = object({
  name: describe("words after rollcall", text),
  ...sameKeys(text, "about", "usage"),
  arguments: list(object({ ...valueKeys, about: text, ...sameKeys(flag, "required", "repeatable") })),
  options: describe("without the global options", list(option)),
  verbs: describe("last words of its verbs", list(text)),
  examples: list(text),
  schema: describe("argument of rollcall schema; null without a document", nullable(text)),
});

const commands = object({
  ...sameKeys(text, "name", "version", "about"),
  options: list(option),
  exit_codes: list(object({ exit_code: count, code: nullable(code), when: text })),
  commands: list(command),
});

const schemaEntry = object({
  name: describe("argument of rollcall schema", text),
  about: text,
  file: describe("file in the package", text),
  line_file: describe("schema of a line of -o jsonl, if it differs", nullable(text)),
});
const schemas = s.union([object({ schemas: list(schemaEntry) }), s.looseObject(sameKeys(text, "$schema", "$id"))]);

const error = object({
  code,
  message: text,
  exit_code: oneOf(
    ...Object.values(exitCodes).flatMap((exit) => (typeof exit === "number" ? exit : Object.values(exit))),
  ),
  retryable: describe("true if the same command can succeed later", flag),
  cause: optionalAbout("code of the failure that stopped the run, if it differs from code", code),
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
    again: describe("true if the request is retried", flag),
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

const documents: s.Outputs = {
  ...trajectoriesOutputs,
  models: ["the inference models", models, s.union([inferenceModel, describe("with --with-prices", priced)])],
  "call read": ["one call, or a list of calls", callsRead, s.union([call, describe("with --summary", callGroup)])],
  "catalog analysis": ["the models in the analysis catalog", catalog, catalogModel],
  "catalog router": ["the models in the router catalog", catalog, catalogModel],
  "catalog all": ["the models of both catalogs", entryRows, entry],
  "catalog show": ["the entries of one model", entryRows, entry],
  "catalog diff": ["the differences between two catalogs, dates or files", diff, change],
  "catalog cost": [
    "the cost of tokens by model, cheapest first",
    ...listDocument("models", costOfModel, { usage, notes }),
  ],
  "catalog lock": ["the locked models", lock],
  "catalog verify": ["the models that got worse since the lock file, and replacements", verification, s.problem],
  "auth login": ["the uses and origins of the saved key", login],
  "auth logout": ["the uses (log, …) of the deleted keys", object({ profile: text, removed: list(useName) })],
  "auth status": ["the credentials by use (log, …)", ...listDocument("credentials", credential, { profile: text })],
  "config list": ["the settings with their sources", ...listDocument("settings", setting, { profile: text })],
  "config get": ["one setting", setting],
  "config path": ["the path of the settings file", object({ settings: text })],
  "config export": ["the settings of a profile by name, for config import", s.named(s.unknown())],
  "profile list": ["the saved profiles", ...listDocument("profiles", profile)],
  "profile use": ["the default profile", object({ profile: text })],
  "profile delete": ["the deleted profile, and its deleted settings and keys", deleted],
  "profile rename": ["the old and new name of the profile, and its account", renamed],
  "serve keys add": ["a new key of the local service, which is never shown again", addedKey],
  "serve keys list": ["the keys of the local service", ...listDocument("keys", key)],
  "serve keys revoke": ["the owner of the revoked key", object({ revoked: text })],
  doctor: ["the findings with their fixes", ...listDocument("findings", doctorFinding, { status: worstStatus })],
  commands: ["the commands with their options, and the exit codes", commands, command],
  explain: ["the meanings of codes and rules, with an example if you name one", ...listDocument("topics", topic)],
  schema: ["the list of schemas, or one schema", schemas, schemaEntry],
  error: ["the last line of standard error for any exit code but 0", object({ error })],
  problem: ["a problem in a result or an error", s.problem],
  rejected: ["a line of a reasons file", rejected],
  event: ["a line of --progress json on standard error", event],
};

export const outputs = Object.entries(documents).map(([name, [about, schema, line]]) => {
  return { name, about, schema, line };
});
export type Output = (typeof outputs)[number];

/** @throws Failure `invalid-option-value` */
export const checkFields = (command: string, fields: readonly string[]) => {
  const output = outputs.find(({ name }) => name === command);
  const { properties } = output ? s.toJsonSchema(output.schema) : {};
  const known = isObject(properties) ? Object.keys(properties) : [];
  const unknown = fields.find((field) => !known.some((name) => field === name || field.startsWith(`${name}.`)));
  const wanted = `names of keys: ${known.slice(0, 5).join(", ")}, …`;
  if (unknown !== undefined) throw invalidOptionValue("--fields", unknown, wanted, findNearest(unknown, known));
};

export const documentSchema = ({ name, about: description, schema }: Output) =>
  toSchemaFile(name, { title: `rollcall ${name}`, description, ...s.toJsonSchema(schema) });

export const lineSchema = (output: Output) => {
  const { name, line } = output;
  if (!line) return documentSchema(output);
  return toSchemaFile(`${name}.line`, { title: `rollcall ${name}, one line of -o jsonl`, ...s.toJsonSchema(line) });
};

const toSchemaFile = (name: string, schema: Readonly<Record<string, unknown>>) => {
  const id = name.replaceAll(" ", "-");
  const draft = "https://json-schema.org/draft/2020-12/schema";
  return { file: `schemas/${id}.json`, schema: { $schema: draft, $id: `urn:rollcall:schema:${id}`, ...schema } };
};
