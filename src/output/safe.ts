/** Makes everything printed safe: text from outside can do no harm, and has no secret of the run. */
import { openSecrets } from "./secrets.ts";

/** What is done to text before it is printed: once, last, where it is written. */
export interface Cleaner {
  /** From now on, this text is redacted in everything printed. */
  hide(secret: string): void;
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
  lines(text: string): string;
}

/** Opens the cleaner of a run; in a build system's log its commands are broken up too. */
export const openCleaner = (env: Environment): Cleaner => {
  const { hide, redact, redactJson } = openSecrets();
  const inBuild = isBuildSystem(env);
  return {
    hide,
    text: (text) => redact(safeText(text)),
    line: (text) => redact(safeLine(redact(text))),
    json: (json) => {
      const safe = redactJson(safeJson(json));
      // In JSON only strings can hold a command, and none begins a line.
      return inBuild ? safe.replace(commandMarks, "\\u0023") : safe;
    },
    verbatim: redact,
    verbatimJson: redactJson,
    lines: (text) => redact(inBuild ? text.replace(workflowCommands, "$& ") : text),
  };
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Line ends of every kind: CR alone, VT, FF, NEL, and the two of Unicode beside LF. */
const lineEnds = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;

/** Whole escape sequences: CSI, and strings (title, link, device) where they are ended on their line. */
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]P_^X]|[\u009d\u0090\u009f\u009e\u0098])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)/g;

/**
 * What never reaches a terminal: C0 but tab and LF, DEL, C1, direction marks and overrides, invisible joiners and
 * fillers, annotation marks, invisible tag letters, and halves of surrogate pairs. The joiners U+200C and U+200D stay:
 * scripts and emoji need them.
 */
const harmful =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

const safeText = (text: string): string => {
  if (text.search(lineEnds) < 0 && text.search(harmful) < 0) return text;
  return text.replace(lineEnds, "\n").replace(sequences, "").replace(harmful, "");
};

const safeLine = (text: string): string => {
  const safe = safeText(text);
  return /[^\S ]| {2}|^ | $/.test(safe) ? safe.replace(/\s+/g, " ").trim() : safe;
};

/** In JSON only strings can hold these: they are written as escapes. */
const harmfulInJson =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

const safeJson = (json: string): string =>
  json.replace(harmfulInJson, (found) =>
    Array.from(found.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );

const buildSystems = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_BUILDID", "TEAMCITY_VERSION", "GITLAB_CI"];

/** True if a build system reads along, and would take lines of output for commands. */
export const isBuildSystem = (env: Environment): boolean =>
  buildSystems.some((name) => !["", "0", "false", undefined].includes(env[name]?.toLowerCase()));

const commandMarks = /#(?=#(?:\[|vso\[|teamcity\[))/gi;

/** `::` at the beginning of a line (GitHub trims it first, color does not hide it), and those marks anywhere in it. */
const workflowCommands = new RegExp(`^((?:[^\\S\\n]|\\u001b\\[[0-9;]*m)*:)(?=:)|${commandMarks.source}`, "gim");

/** A sentence on one line, whatever the names in it hold. */
export const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");
