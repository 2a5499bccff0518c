/** Defines the document of `commands`. */
import * as s from "../../output/document-schemas.ts";

const valueKeys = {
  name: s.describe("placeholder", s.text),
  choices: s.describe("all values; null if others are possible", s.nullable(s.list(s.text))),
};

const option = s.withNotes(
  s.object({
    name: s.text,
    short: s.nullable(s.text),
    about: s.text,
    value: s.describe("null for a flag", s.nullable(s.object(valueKeys))),
    default: s.nullable(s.text),
    repeatable: s.flag,
    group: s.describe("heading in the help", s.nullable(s.text)),
  }),
  { id: "option" },
);

const command = s.object({
  name: s.describe("words after rollcall", s.text),
  ...s.sameKeys(s.text, "about", "usage"),
  arguments: s.list(s.object({ ...valueKeys, about: s.text, ...s.sameKeys(s.flag, "required", "repeatable") })),
  options: s.describe("without the global options", s.list(option)),
  verbs: s.describe("last words of its verbs", s.list(s.text)),
  examples: s.list(s.text),
  schema: s.describe("argument of rollcall schema; null without a document", s.nullable(s.text)),
});

const commands = s.object({
  ...s.sameKeys(s.text, "name", "version", "about"),
  options: s.list(option),
  exit_codes: s.list(s.object({ exit_code: s.count, code: s.nullable(s.code), when: s.text })),
  commands: s.list(command),
});
export type CommandsDocument = s.Infer<typeof commands>;

export const outputs: s.Outputs = {
  commands: ["the commands with their options, and the exit codes", commands, command],
};
