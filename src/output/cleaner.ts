/** Makes everything printed safe: text from outside can do no harm, and has no secret of the run. */
import { openSecrets } from "./secrets.ts";

/** What is done to text before it is printed: once, last, where it is written. */
export interface Cleaner {
  /** From now on, this text is redacted in everything printed. */
  addSecret(secret: string): void;
  /** Text of several lines, without control characters but tabs and line ends. */
  text(text: string): string;
  /** Text of one line: every white space in it is one space. */
  line(text: string): string;
  /** Valid JSON, with escapes in place of what could do harm. */
  json(json: string): string;
  /** Text, or JSON, for a program or a file: only secrets are redacted. */
  verbatim(text: string): string;
  verbatimJson(json: string): string;
  /** Whole lines, in which a build system finds none of its commands, and nobody a secret that an escape had hidden. */
  breakCommands(text: string): string;
}

/** Opens the cleaner of a run; in a build system's log its commands are broken up too. */
export const openCleaner = (env: Environment): Cleaner => {
  const { add: hide, redact, redactJson } = openSecrets();
  const isInBuild = isBuildSystem(env);
  return {
    addSecret: hide,
    text: (text) => redact(sanitizeText(text)),
    line: (text) => redact(sanitizeLine(redact(text))),
    json: (json) => {
      const safe = redactJson(sanitizeJson(json));
      // In JSON only strings can hold a command, and none begins a line.
      return isInBuild ? safe.replace(commandPrefixes, "\\u0023") : safe;
    },
    verbatim: redact,
    verbatimJson: redactJson,
    breakCommands: (text) => redact(isInBuild ? text.replace(workflowCommands, "$& ") : text),
  };
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Line ends of every kind: CR alone, VT, FF, NEL, and the two of Unicode beside LF. */
const lineEnds = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;

/** Whole escape sequences: CSI, and strings (title, link, device) where they are ended on their line. */
const escapeSequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]P_^X]|[\u009d\u0090\u009f\u009e\u0098])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)/g;

/**
 * What never reaches a terminal: C0 but tab and LF, DEL, C1, direction marks and overrides, invisible joiners and
 * fillers, annotation marks, invisible tag letters, and halves of surrogate pairs. The joiners U+200C and U+200D stay:
 * scripts and emoji need them.
 */
const harmfulCharacters =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

const sanitizeText = (text: string): string => {
  if (text.search(lineEnds) < 0 && text.search(harmfulCharacters) < 0) return text;
  return text.replace(lineEnds, "\n").replace(escapeSequences, "").replace(harmfulCharacters, "");
};

const sanitizeLine = (text: string): string => {
  const safe = sanitizeText(text);
  return /[^\S ]| {2}|^ | $/.test(safe) ? safe.replace(/\s+/g, " ").trim() : safe;
};

/** In JSON only strings can hold these: they are written as escapes. */
const harmfulInJson =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

const sanitizeJson = (json: string): string =>
  json.replace(harmfulInJson, (found) =>
    Array.from(found.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );

const buildSystems = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_BUILDID", "TEAMCITY_VERSION", "GITLAB_CI"];

/** True if a build system reads along, and would take lines of output for commands. */
export const isBuildSystem = (env: Environment): boolean =>
  buildSystems.some((name) => !["", "0", "false", undefined].includes(env[name]?.toLowerCase()));

const commandPrefixes = /#(?=#(?:\[|vso\[|teamcity\[))/gi;

/** `::` at the beginning of a line (GitHub trims it first, color does not hide it), and those marks anywhere in it. */
const workflowCommands = new RegExp(`^((?:[^\\S\\n]|\\u001b\\[[0-9;]*m)*:)(?=:)|${commandPrefixes.source}`, "gim");

/** A sentence on one line, whatever the names in it hold. */
export const toOneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");
