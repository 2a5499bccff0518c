/** Failures that several modules make. */
import { basename, dirname } from "node:path";
import { type About, Failure } from "./failure.ts";
import { didYouMean } from "./sentences.ts";
import { commandLine } from "./shell-words.ts";

/** @param broken whether the local service broke requests off that it was answering */
export const interrupted = (
  { signal, broken = false }: { signal: NonNullable<About["signal"]>; broken?: boolean },
  about: About = {},
): Failure => {
  const { retryable = true, unsent } = about;
  const end = broken ? ": requests that took longer than 10 s from then on were broken off" : "";
  return new Failure("interrupted", "interrupted", `interrupted by ${signal}${end}`, {
    // Only of what sends anything is it said whether something was sent.
    hint: broken
      ? "whoever sent them does not know what became of them: with an Idempotency-Key they may be sent again"
      : retryable
        ? `the same command again is safe${unsent === undefined ? "" : ": it sends what is not logged yet"}`
        : "without a ledger the same command logs again what is logged: send the other groups alone",
    signal,
    ...about,
  });
};

export const wordsWrong = ({
  text,
  suggestion,
  command,
}: {
  text: string;
  suggestion: string | undefined;
  command: string;
}): Failure =>
  new Failure("usage", "words-wrong", text, {
    hint: suggestion?.replace(/^\((.*)\)$/, "$1") ?? `\`${command} --help\` lists what there is`,
  });

/** @param help the help of the command, which is printed in place of the message */
export const verbMissing = ({
  command,
  verbs,
  help,
}: {
  command: string;
  verbs: readonly string[];
  help: string;
}): Failure => {
  const message = verbs.length === 1 ? `${command} needs ${verbs[0]}` : `${command} needs one of ${verbs.join(", ")}`;
  return new Failure("usage", "verb-missing", message, { hint: `${command} ${verbs[0] ?? "--help"}`, help });
};

export const optionValueWrong = (
  {
    option,
    value,
    wanted,
    suggestion,
  }: { option: string; value: string; wanted: string; suggestion?: string | undefined },
  about: About = {},
): Failure =>
  new Failure("usage", "option-value-wrong", `${option} can't be "${value}": it takes ${wanted}`, {
    ...didYouMean(suggestion),
    ...about,
  });

/** @param way another way to what was wanted */
export const optionsContradict = ({
  first,
  second,
  why,
  way,
}: {
  first: string;
  second: string;
  why: string;
  way?: string;
}): Failure =>
  new Failure("usage", "options-contradict", `${first} and ${second} can't go together: ${why}`, { hint: way });

/** There is a file already where what is converted, or its receipt, is to be written. */
export const outExists = (file: string): Failure =>
  new Failure("usage", "out-exists", `${file} is there already`, { hint: "name another file, or take that one away" });

export const outUnwritable = ({ file, code }: { file: string; code: string }, about: About = {}): Failure =>
  new Failure("storage", "out-unwritable", `${file} can't be written (${code})`, {
    hint: "name a file in a folder that can be written",
    ...about,
  });

/** A part of the path of a file or folder of rollcall's own that another user owns or could replace. */
export interface ForeignPart {
  readonly part: string;
  /** It belongs to them, is a link of theirs, or is a folder that they may write. */
  readonly why: "owner" | "link" | "writable";
  readonly owner: number;
  readonly mode: number;
}

export const placeForeign = (
  { place, part, why, owner, mode, user }: ForeignPart & { place: string; user: number },
  about: About = {},
): Failure => {
  const message = {
    owner: `${part} belongs to another user (uid ${owner})${part === place ? "" : `, so that ${place} is not used`}`,
    link: `${part} is a link of another user (uid ${owner}), which is not followed`,
    writable: `other users may write to ${part} (mode ${mode.toString(8).padStart(4, "0")}), and could replace ${place}`,
  }[why];
  const asRoot = user === 0 ? [] : ["sudo"];
  const command = (...words: readonly string[]): string => `\`${commandLine(words)}\``;
  const fix = (): string => {
    if (why === "link") return `remove it: ${command(...asRoot, "rm", part)}`;
    if (why === "writable") {
      return `keep them out: ${command(...(owner === user ? [] : asRoot), "chmod", "go-w", part)}`;
    }
    // Nobody is told to take a folder that may hold more than rollcall's files.
    return part === place || (part === dirname(place) && basename(part) === "rollcall")
      ? `look at what is in it, then make it yours: ${command(...asRoot, "chown", String(user), part)}`
      : `run rollcall as the user ${owner}`;
  };
  const hint = `${fix()}; ROLLCALL_CONFIG_DIR, ROLLCALL_DATA_DIR and --ledger name other places`;
  return new Failure("storage", "place-foreign", message, { hint, ...about });
};

export const optionNeeds = (option: string, needs: string): Failure =>
  new Failure("usage", "option-needs", `${option} means nothing without ${needs}`);
