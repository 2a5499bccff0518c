/** What rollcall prints of itself: its settings and credentials, its commands, codes, rules and schemas. */
import { exitCodes } from "../../failure.ts";
import {
  about,
  anything,
  count,
  flag,
  list,
  moment,
  named,
  nullable,
  type Output,
  object,
  oneOf,
  open,
  type Schema,
  shared,
  text,
} from "./shape.ts";

const use = oneOf("log", "inference", "calls");

const credential: Schema = object({
  use,
  origin: about("null where the use has no address", nullable(text)),
  state: oneOf("ready", "command", "elsewhere", "missing", "no address"),
  from: about("where the credential comes from", nullable(text)),
  username: nullable(text),
  check: about(
    "whether the service took it; untried where no read takes it, null where it was not asked",
    oneOf("taken", "refused", "silent", "untried", null),
  ),
});

const setting: Schema = object({
  name: text,
  value: about("as it was written; null where it is not set", nullable(text)),
  source: oneOf("command line", "environment", "profile", "default", null),
  from: about("the option, the variable or the file", nullable(text)),
  problem: about("why the value can't be used", nullable(text)),
});

const profile: Schema = object({
  name: text,
  in_use: about("whether a command with the same options takes it", flag),
  base_url: about("null where none is saved", nullable(text)),
  keys: about("the uses that a key is saved for", list(use)),
});

const finding: Schema = object(
  {
    check: about("name of the check", text),
    status: oneOf("ok", "warning", "error", "skipped"),
    message: text,
  },
  {
    fix: about("what to do about it", text),
    code: about("the error code of a run that needs this; only of errors", oneOf(...Object.keys(exitCodes))),
    facts: about("what was found", named(anything)),
  },
);

const listed: Schema = object({
  name: about("what rollcall schema takes", text),
  about: text,
  file: about("its file in the package", text),
  line_file: about("that of a line of -o jsonl, where it is not the document", nullable(text)),
});

const topic = {
  name: text,
  kind: oneOf("code", "rule"),
  about: text,
  code: about("the error code; null for a rule", nullable(oneOf(...Object.keys(exitCodes)))),
  exit_codes: list(count),
  severity: about("null but for a rule", oneOf("error", "warning", null)),
};

const explained = {
  example: about("how a problem of the rule is shown; null for a code", nullable(text)),
};

const value = {
  name: about("what stands for it in the usage", text),
  kind: oneOf("choice", "file", "folder", "duration", "size", "number", "url", "text"),
  choices: about("the only values there are; null where it can be others", nullable(list(text))),
};

const option: Schema = object({
  name: text,
  short: nullable(text),
  about: text,
  value: about("null for an option that takes none", nullable(object(value))),
  default: nullable(text),
  repeatable: about("whether several values are taken, one each time", flag),
  group: about("the heading it stands under in the help", nullable(text)),
});

const command: Schema = object({
  name: about("its words behind rollcall", text),
  about: text,
  usage: text,
  arguments: list(object({ ...value, about: text, required: flag, repeatable: flag })),
  options: about("its own; those of the program are every command's too", list(shared("option"))),
  verbs: about("the last words of the commands below it", list(text)),
  examples: about("lines that can be pasted", list(text)),
  schema: about("what rollcall schema knows its output by; null where it prints no document", nullable(text)),
});

const projects = about("that it is for; none: all", list(text));

/** A person's key of the local service. */
const key = object({
  name: text,
  projects,
  uses: list(use),
  created: moment,
  revoked: about("null while it is taken", nullable(moment)),
});

/** The outputs. */
export const ownOutputs: readonly Output[] = [
  {
    name: "auth login",
    about: "for which uses and origins the key was saved",
    schema: object({
      profile: text,
      saved: list(object({ use, origin: text })),
      checked: about("whether the service took the key", flag),
      next: about("the command to try", text),
    }),
  },
  {
    name: "auth logout",
    about: "the uses whose key is forgotten",
    schema: object({ profile: text, removed: list(use) }),
  },
  {
    name: "auth status",
    about: "which credential goes with which use",
    schema: object({ profile: text, credentials: list(credential) }),
    line: credential,
  },
  {
    name: "config list",
    about: "every setting, and where its value comes from",
    schema: object({ profile: text, settings: list(setting) }),
    line: setting,
  },
  { name: "config get", about: "one setting", schema: setting },
  { name: "config path", about: "where the settings are saved", schema: object({ settings: text }) },
  {
    name: "config export",
    about: "the settings of a profile, by name: what config import reads",
    schema: named(anything),
  },
  {
    name: "profile list",
    about: "the profiles that are saved",
    schema: object({ profiles: list(profile) }),
    line: profile,
  },
  { name: "profile use", about: "the profile that is used where none is named", schema: object({ profile: text }) },
  {
    name: "profile delete",
    about: "what was forgotten with a profile",
    schema: object({ deleted: text, settings: list(text), keys: list(use) }),
  },
  {
    name: "profile rename",
    about: "the profile's names, and the account that it keeps",
    schema: object({ from: text, to: text, account: text }),
  },
  {
    name: "serve keys add",
    about: "a key of the local service, which is shown this once",
    schema: object({ name: text, key: text, projects, uses: list(use) }),
  },
  { name: "serve keys list", about: "the keys of the local service", schema: object({ keys: list(key) }), line: key },
  { name: "serve keys revoke", about: "whose key was revoked", schema: object({ revoked: text }) },
  {
    name: "doctor",
    about: "what is right and what is wrong, with its fix",
    schema: object({ status: about("the worst of them", oneOf("ok", "warning", "error")), findings: list(finding) }),
    line: finding,
  },

  {
    name: "commands",
    about: "the whole command tree, with the options of every command and the exit codes",
    schema: {
      ...object({
        name: text,
        version: text,
        about: text,
        options: list(shared("option")),
        exit_codes: list(object({ exit_code: count, code: nullable(oneOf(...Object.keys(exitCodes))), when: text })),
        commands: list(command),
      }),
      $defs: { option },
    },
    line: { ...command, $defs: { option } },
  },
  {
    name: "explain",
    about: "what codes and rules mean; with a name, those of that name and an example",
    schema: object({ topics: list(object(topic, explained)) }),
    line: object(topic, explained),
  },
  {
    name: "schema",
    about: "the schemas that there are; with a name, that schema",
    schema: { anyOf: [object({ schemas: list(listed) }), open({ $schema: text, $id: text }, ["$schema", "$id"])] },
    line: listed,
  },
];
