/** Makes everything printed safe: what came from outside can do no harm, and no secret of the run stands in it. */
import { openSecrets } from "./secrets.ts";

/** What is done to text before it is printed: once, last, where it is written. */
export interface Cleaner {
  /** From now on, this text is blotted out of everything printed. */
  hide(secret: string): void;
  /** Text of several lines, in which only tabs and line ends are left of what controls. */
  text(text: string): string;
  /** Text of one line: every white space in it is one space. */
  line(text: string): string;
  /** Valid JSON, with escapes in place of what could do harm: it says the same to who parses it. */
  json(json: string): string;
  /** What goes to a program or a file as it stands: only secrets are taken out of it. */
  verbatim(text: string): string;
  /** Valid JSON as it stands; only secrets are taken out of its texts. */
  verbatimJson(json: string): string;
  /** Whole lines, in which a build system finds none of its commands, and nobody a secret that an escape had hidden. */
  lines(text: string): string;
}

/** Opens the cleaner of a run; in a build system's log its commands are broken up too. */
export const openCleaner = (env: Environment): Cleaner => {
  const { hide, blot, blotJson } = openSecrets();
  const inBuild = isBuildSystem(env);
  const inLog = (json: string) => (inBuild ? jsonWithoutCommands(json) : json);
  return {
    hide,
    text: (text) => blot(safeText(text)),
    line: (text) => blot(safeLine(blot(text))),
    json: (json) => inLog(blotJson(safeJson(json))),
    verbatim: blot,
    verbatimJson: blotJson,
    lines: (text) => blot(inBuild ? withoutCommands(text) : text),
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

const seen = (pattern: RegExp, text: string): boolean => {
  pattern.lastIndex = 0;
  return pattern.test(text);
};

/** Text of several lines, without anything that could do more than be read. Tabs and line ends stay. */
const safeText = (text: string): string => {
  if (!seen(lineEnds, text) && !seen(harmful, text)) return text;
  return text.replace(lineEnds, "\n").replace(sequences, "").replace(harmful, "");
};

/** Text of one line: every white space inside is one space. */
const safeLine = (text: string): string => {
  const safe = safeText(text);
  return /[^\S ]| {2}|^ | $/.test(safe) ? safe.replace(/\s+/g, " ").trim() : safe;
};

/** In JSON only strings can hold these: they are written as escapes, which changes nothing for who parses it. */
const harmfulInJson =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** Valid JSON as ASCII escapes where a character could do harm. */
const safeJson = (json: string): string =>
  json.replace(harmfulInJson, (found) =>
    Array.from({ length: found.length }, (_, at) => escapeUnit(found.charCodeAt(at))).join(""),
  );

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;

/** Variables by which build systems say that they are one. */
const buildSystems = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_BUILDID", "TEAMCITY_VERSION", "GITLAB_CI"];

/** Whether a build system reads along, and would take lines of output for commands. */
export const isBuildSystem = (env: Environment): boolean =>
  buildSystems.some((name) => !["", "0", "false", undefined].includes(env[name]?.toLowerCase()));

/** `::` where a line begins (GitHub trims it first, colour does not hide it); `##[` and `##vso[` anywhere in it. */
const workflowCommands = /^((?:[^\S\n]|\u001b\[[0-9;]*m)*:)(?=:)|#(?=#(?:\[|vso\[|teamcity\[))/gim;

/** Breaks up what a build system would take for a command: `: :`, `# #[`. Only for whole lines. */
const withoutCommands = (text: string): string => text.replace(workflowCommands, "$& ");

/** The same for JSON, by an escape: only strings can hold it, and none begins a line. */
const jsonWithoutCommands = (json: string): string => json.replace(/#(?=#(?:\[|vso\[|teamcity\[))/gi, "\\u0023");

/** A sentence on one line, whatever the names in it hold. */
export const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");
