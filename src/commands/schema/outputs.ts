/** Every output of `--json`, and its JSON Schema. Here are those about rollcall itself, its failures and its events. */
import { exitCodes } from "../../failure.ts";
import { modelsOutputs } from "./models.ts";
import * as s from "./shape.ts";
import {
  about,
  anything,
  count,
  flag,
  list,
  listDocument,
  nullable,
  object,
  oneOf,
  optional,
  optionalAbout,
  sameKeys,
  text,
} from "./shape.ts";
import { trajectoriesOutputs } from "./trajectories.ts";

export { passthroughNote as asItCame } from "./models.ts";

const useName = oneOf("log", "inference", "calls");
const code = oneOf(...Object.keys(exitCodes));

const credential = object({
  use: useName,
  origin: about("null where the use has no address", nullable(text)),
  state: oneOf("ready", "command", "elsewhere", "missing", "no address"),
  from: about("where the credential comes from", nullable(text)),
  username: nullable(text),
  check: about(
    "whether the service took it; untried where no read takes it, null where it was not asked",
    oneOf("taken", "refused", "silent", "untried", null),
  ),
});

const login = object({
  profile: text,
  saved: list(object({ use: useName, origin: text })),
  checked: about("whether the service took the key", flag),
  next: about("the command to try", text),
});

const setting = object({
  name: text,
  value: about("as it was written; null where it is not set", nullable(text)),
  source: oneOf("command line", "environment", "profile", "default", null),
  from: about("the option, the variable or the file", nullable(text)),
  problem: about("why the value can't be used", nullable(text)),
});

const profile = object({
  name: text,
  in_use: about("whether a command with the same options takes it", flag),
  base_url: about("null where none is saved", nullable(text)),
  keys: about("the uses that a key is saved for", list(useName)),
});

const deleted = object({ deleted: text, settings: list(text), keys: list(useName) });

/** What a person's key of the local service is for. */
const uses = { projects: about("that it is for; none: all", list(text)), uses: list(useName) };
const addedKey = object({ ...sameKeys(text, "name", "key"), ...uses });
const key = object({
  name: text,
  ...uses,
  created: s.time,
  revoked: about("null while it is taken", nullable(s.time)),
});

const finding = object({
  check: about("name of the check", text),
  status: oneOf("ok", "warning", "error", "skipped"),
  message: text,
  fix: optionalAbout("what to do about it", text),
  code: optionalAbout("the error code of a run that needs this; only of errors", code),
  facts: optionalAbout("what was found", s.named(anything)),
});

const worstStatus = about("the worst of them", oneOf("ok", "warning", "error"));

const topic = object({
  name: text,
  kind: oneOf("code", "rule"),
  about: text,
  code: about("the error code; null for a rule", nullable(code)),
  exit_codes: list(count),
  severity: about("null but for a rule", oneOf("error", "warning", null)),
  example: optionalAbout("how a problem of the rule is shown; null for a code", nullable(text)),
});

const valueKeys = {
  name: about("what stands for it in the usage", text),
  kind: oneOf("choice", "file", "folder", "duration", "size", "number", "url", "text"),
  choices: about("the only values there are; null where it can be others", nullable(list(text))),
};

const option = s.shared(
  "option",
  object({
    name: text,
    short: nullable(text),
    about: text,
    value: about("null for an option that takes none", nullable(object(valueKeys))),
    default: nullable(text),
    repeatable: about("whether several values are taken, one each time", flag),
    group: about("the heading it stands under in the help", nullable(text)),
  }),
);

const command = object({
  name: about("its words behind rollcall", text),
  ...sameKeys(text, "about", "usage"),
  arguments: list(object({ ...valueKeys, about: text, ...sameKeys(flag, "required", "repeatable") })),
  options: about("its own; those of the program are every command's too", list(option)),
  verbs: about("the last words of the commands below it", list(text)),
  examples: about("lines that can be pasted", list(text)),
  schema: about("what rollcall schema knows its output by; null where it prints no document", nullable(text)),
});

const commands = object({
  ...sameKeys(text, "name", "version", "about"),
  options: list(option),
  exit_codes: list(object({ exit_code: count, code: nullable(code), when: text })),
  commands: list(command),
});

const schemaEntry = object({
  name: about("what rollcall schema takes", text),
  about: text,
  file: about("its file in the package", text),
  line_file: about("that of a line of -o jsonl, where it is not the document", nullable(text)),
});

const schemas = s.either([object({ schemas: list(schemaEntry) }), s.open(sameKeys(text, "$schema", "$id"))]);

const error = object({
  code: about("what kind of failure it is", code),
  message: about("what happened, and where", text),
  exit_code: oneOf(
    ...Object.values(exitCodes).flatMap((exit) => (typeof exit === "number" ? exit : Object.values(exit))),
  ),
  retryable: about("whether the same command again can get further", flag),
  cause: optionalAbout("the code of what stopped a run that ends with a code of its own", code),
  hint: optionalAbout("what to do", text),
  where: optionalAbout(
    "where it has its cause, as far as known",
    object({ ...s.positionKeys, ...sameKeys(optional(text), "setting", "option", "environment") }),
  ),
  http: optionalAbout(
    "the exchange that failed",
    object({
      ...sameKeys(text, "method", "url"),
      status: optional(count),
      said: optionalAbout("what the service said, at most 2000 characters of it", text),
    }),
  ),
  problems: optional(s.limitedProblems),
  next: optionalAbout("the next command to run, as it is typed", text),
});

const outcomes = ["logged", "not_sent", "not_processed", "too_large", "refused", "unknown"] as const;

/** An event of `--progress json`. */
const event = s.either([
  object({
    event: oneOf("fetching", "checking", "sending", "following"),
    bytes: count,
    ...sameKeys(nullable(count), "of_bytes", "groups"),
  }),
  object({
    event: oneOf(...outcomes.map((outcome) => `request_${outcome}`)),
    again: about("whether it is tried again", flag),
    ...sameKeys(count, "groups", "bytes"),
    reason: about("the status that was answered, or the code of what was in the way", text),
    requests: about("requests that have an outcome", count),
    of_requests: about("all that there are so far", count),
  }),
  object({ event: oneOf("notice", "debug"), message: text }),
  object({ event: oneOf("warning"), ...s.problemKeys }),
  object({ event: oneOf("file_waiting", "file_moved", "file_rewritten"), file: text }),
]);

const rejected = object({ ...s.problemKeys, rejects_line: optionalAbout("the line of the rejects file", s.position) });

/** Those of the commands in the order of the help, then those that several commands print. */
const documents: s.Outputs = {
  ...trajectoriesOutputs,
  ...modelsOutputs,
  "auth login": ["for which uses and origins the key was saved", login],
  "auth logout": ["the uses whose key is forgotten", object({ profile: text, removed: list(useName) })],
  "auth status": [
    "which credential goes with which use",
    ...listDocument("credentials", credential, { profile: text }),
  ],
  "config list": [
    "every setting, and where its value comes from",
    ...listDocument("settings", setting, { profile: text }),
  ],
  "config get": ["one setting", setting],
  "config path": ["where the settings are saved", object({ settings: text })],
  "config export": ["the settings of a profile, by name: what config import reads", s.named(anything)],
  "profile list": ["the profiles that are saved", ...listDocument("profiles", profile)],
  "profile use": ["the profile that is used where none is named", object({ profile: text })],
  "profile delete": ["what was forgotten with a profile", deleted],
  "profile rename": [
    "the profile's names, and the account that it keeps",
    object(sameKeys(text, "from", "to", "account")),
  ],
  "serve keys add": ["a key of the local service, which is shown this once", addedKey],
  "serve keys list": ["the keys of the local service", ...listDocument("keys", key)],
  "serve keys revoke": ["whose key was revoked", object({ revoked: text })],
  doctor: [
    "what is right and what is wrong, with its fix",
    ...listDocument("findings", finding, { status: worstStatus }),
  ],
  commands: ["the whole command tree, with the options of every command and the exit codes", commands, command],
  explain: [
    "what codes and rules mean; with a name, those of that name and an example",
    ...listDocument("topics", topic),
  ],
  schema: ["the schemas that there are; with a name, that schema", schemas, schemaEntry],
  error: ["the line on standard error, on any exit code but 0", object({ error })],
  problem: ["one thing that is wrong, as results and errors hold it", s.problem],
  rejected: ["a line of the reasons beside a rejects file", rejected],
  event: ["a line of --progress json on standard error", event],
};

/** Every output. */
export const outputs = Object.entries(documents).map(([name, [about, schema, line]]) => {
  return { name, about, schema, line };
});
export type Output = (typeof outputs)[number];

/** The schema of an output as a document of its own: the file of the package, below `schemas/`, and what is in it. */
export const documentSchema = ({ name, about: description, schema }: Output) =>
  toSchemaFile(toFileName(name), { title: `rollcall ${name}`, description, ...s.toJsonSchema(schema) });

/** The schema of one line of `-o jsonl`: the document's own if a line is the document. */
export const lineSchema = (output: Output): ReturnType<typeof documentSchema> => {
  const { name, line } = output;
  if (line === undefined) return documentSchema(output);
  const title = `rollcall ${name}, one line of -o jsonl`;
  return toSchemaFile(`${toFileName(name)}.line`, { title, ...s.toJsonSchema(line) });
};

const toFileName = (name: string): string => name.replaceAll(" ", "-");

const toSchemaFile = (name: string, schema: Readonly<Record<string, unknown>>) => ({
  file: `schemas/${name}.json`,
  schema: { $schema: "https://json-schema.org/draft/2020-12/schema", $id: `urn:rollcall:schema:${name}`, ...schema },
});
