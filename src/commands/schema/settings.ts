/** What `auth` and `config` print. */
import { exitCodes } from "../../failure.ts";
import {
  about,
  anything,
  flag,
  list,
  named,
  nullable,
  type Output,
  object,
  oneOf,
  type Schema,
  text,
} from "./shape.ts";

const use = oneOf("log", "inference", "calls");

const credential: Schema = object({
  use,
  origin: about("null where the use has no address", nullable(text)),
  state: oneOf("ready", "command", "elsewhere", "missing", "no address"),
  from: about("where the credential comes from", nullable(text)),
  username: nullable(text),
  check: about("whether the service took it; null where it was not asked", oneOf("taken", "refused", "silent", null)),
});

const setting: Schema = object({
  name: text,
  value: about("as it was written; null where it is not set", nullable(text)),
  source: oneOf("command line", "environment", "profile", "default", null),
  from: about("the option, the variable or the file", nullable(text)),
  problem: about("why the value can't be used", nullable(text)),
});

const finding: Schema = object(
  {
    check: about("name of the check", text),
    status: oneOf("ok", "warning", "error", "skipped"),
    message: text,
  },
  {
    mend: about("what to do about it", text),
    code: about("the error code of a run that needs this; only of errors", oneOf(...Object.keys(exitCodes))),
    facts: about("what was measured or found; times are milliseconds", named(anything)),
  },
);

/** The outputs. */
export const settingsOutputs: readonly Output[] = [
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
    name: "doctor",
    about: "what is right and what is wrong, with its mend",
    schema: object({ status: about("the worst of them", oneOf("ok", "warning", "error")), findings: list(finding) }),
    line: finding,
  },
];
