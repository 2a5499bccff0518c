/** Removes harmful characters from output, and redacts secrets. */
import type { Host } from "../system/host.ts";
import { sanitizeText } from "../text/sanitize.ts";
import { openSecrets } from "./secrets.ts";

export type TextCleaner = (text: string) => string;

export interface Cleaner {
  readonly addSecret: (secret: string) => void;
  /** For rollcall's own text. */
  readonly text: TextCleaner;
  /** For a text from outside. */
  readonly outside: TextCleaner;
  /** For a text from outside on one line. */
  readonly line: TextCleaner;
  readonly json: TextCleaner;
  readonly redact: TextCleaner;
  /** The text must consist of complete lines, because a command begins a line. */
  readonly breakCommands: TextCleaner;
}

export const openCleaner = (env: Host["env"]): Cleaner => {
  const { add, omit, redact, omitInJson } = openSecrets();
  const isInBuild = isBuildSystem(env);
  return {
    addSecret: add,
    text: (text) => redact(sanitizeText(text)),
    outside: (text) => omit(sanitizeText(text)),
    line: (text) => sanitizeLine(omit(sanitizeText(text))),
    json: (json) => {
      const safe = omitInJson(sanitizeJson(json));
      // A string in JSON never begins a line, so `::` is harmless.
      return isInBuild ? safe.replace(commandPrefixes, "\\u0023") : safe;
    },
    redact,
    breakCommands: (text) => redact(isInBuild ? text.replace(workflowCommands, "$& ") : text),
  };
};

const sanitizeLine = (text: string) => {
  const safe = sanitizeText(text);
  return /[^\S ]| {2}|^ | $/.test(safe) ? safe.replace(/\s+/g, " ").trim() : safe;
};

const harmfulInJson =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

const sanitizeJson = (json: string) =>
  json.replace(harmfulInJson, (character) =>
    Array.from(character.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );

const buildVariables = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_BUILDID", "TEAMCITY_VERSION", "GITLAB_CI"];

/** Some build systems execute output that looks like a command. */
export const isBuildSystem = (env: Host["env"]) =>
  buildVariables.some((name) => !["", "0", "false", undefined].includes(env[name]?.toLowerCase()));

const commandPrefixes = /#(?=#(?:\[|vso\[|teamcity\[))/gi;

/** Matches `commandPrefixes`. Also matches `::` after white space and colors at the start of a line. */
const workflowCommands = new RegExp(`^((?:[^\\S\\n]|\\u001b\\[[0-9;]*m)*:)(?=:)|${commandPrefixes.source}`, "gim");

/** A pattern with `\s*` before the line end would try each white space as its start. */
export const toOneLine = (text: string) => text.replace(/\s+/g, (white) => (white.includes("\n") ? " " : white));
