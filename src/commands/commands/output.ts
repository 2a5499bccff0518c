/** Defines the document of `commands`. */
import * as s from "../../output/document-schemas.ts";
import { count, describe, flag, list, nullable, object, sameKeys, text } from "../../output/document-schemas.ts";

const valueKeys = {
  name: describe("placeholder", text),
  kind: s.oneOf("choice", "file", "folder", "duration", "size", "number", "url", "text"),
  choices: describe("all values; null if others are possible", nullable(list(text))),
};

const option = s.withNotes(
  object({
    name: text,
    short: nullable(text),
    about: text,
    value: describe("null for a flag", nullable(object(valueKeys))),
    default: nullable(text),
    repeatable: flag,
    group: describe("heading in the help", nullable(text)),
  }),
  { id: "option" },
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
  exit_codes: list(object({ exit_code: count, code: nullable(s.code), when: text })),
  commands: list(command),
});
export type CommandsDocument = s.Infer<typeof commands>;

export const outputs: s.Outputs = {
  commands: ["the commands with their options, and the exit codes", commands, command],
};
