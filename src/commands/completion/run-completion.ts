/** Has the completion scripts, and prints their candidates, without requests or credentials. */

import zsh from "../../../completions/_rollcall?raw";
import bash from "../../../completions/rollcall.bash?raw";
import fish from "../../../completions/rollcall.fish?raw";
import powershell from "../../../completions/rollcall.ps1?raw";
import { listOptions, parseArgv } from "../../cli/argv.ts";
import { formatAbout, lastWord, type Program } from "../../cli/command.ts";
import type { OptionKind } from "../../cli/kinds.ts";
import type { Context } from "../../session/context.ts";
import { splitWords } from "../../text/shell-words.ts";

/**
 * Prints `words` and the candidates, or `files`, or `folders`. Ignores errors, which would break the prompt.
 * `typed` depends on the shell:
 * - bash: the line up to the cursor, then the part of its last word that bash replaces
 * - zsh, fish: `:` and the current word in one argument (never empty), then the earlier words
 * - powershell: the arguments of zsh, joined with NUL, in base64, because PowerShell loses quotes and empty words
 */
export const printCandidates = async (
  context: Context,
  program: Program,
  { shell, typed }: { shell: string; typed: readonly string[] },
) => {
  const { current, before, format } = shell === "bash" ? parseBashLine(typed) : parseShellWords(shell, typed);
  const isAfterRedirection = /^(\d*|&)(<|>{1,2}\|?)$/.test(before.at(-1) ?? "");
  const found = isAfterRedirection
    ? "files"
    : await findCandidates(program, { before, current }).catch(() => undefined);
  if (found === undefined) return;
  const lines = typeof found === "string" ? [found] : ["words", ...found.flatMap((one) => format(one) ?? [])];
  await context.screen.printText(lines.map((line) => `${line}\n`).join(""));
};

type Candidate = Readonly<Record<"text" | "about", string>>;

interface ShellLine {
  readonly before: readonly string[];
  readonly current: string;
  /** Returns undefined if the shell cannot use the candidate. */
  readonly format: (candidate: Candidate) => string | undefined;
}

/** bash replaces only the text after the last `=` or `:`. */
const parseBashLine = ([line = "", replaced = ""]: readonly string[]): ShellLine => {
  const words = splitWords(line);
  const last = words.at(-1) ?? { raw: "", text: "", open: { quote: "", at: 0 } as const };
  const keptPart = last.raw.endsWith(replaced) ? last.raw.slice(0, last.raw.length - replaced.length) : "";
  const { quote, at } = last.open;
  const keptText = splitWords(keptPart).at(-1)?.text ?? "";
  return {
    before: words.slice(1, -1).map(({ text }) => text),
    current: last.text,
    format: ({ text }) => {
      if (!text.startsWith(last.text)) return undefined;
      const rest = text.slice(keptText.length);
      return quote !== "" && at >= keptPart.length ? quote + rest : rest;
    },
  };
};

const parseShellWords = (shell: string, typed: readonly string[]): ShellLine => {
  const isPowershell = shell === "powershell";
  const joined = isPowershell ? Buffer.from(typed[0] ?? "", "base64").toString() : typed.join("\0");
  const [markedWord = "", ...before] = joined.split("\0");
  const raw = markedWord.slice(1);
  // fish and PowerShell pass the word with its quotes.
  const current = shell === "zsh" ? raw : (splitWords(raw).at(-1)?.text ?? "");
  const format = ({ text, about }: Candidate) =>
    isPowershell && !text.startsWith(current) ? undefined : `${text}\t${about.replaceAll(/\s+/g, " ")}`;
  return { before, current, format };
};

/** Represents the current word in argv. An argument that a user types cannot contain NUL. */
const cursorMark = "-\0";

const findCandidates = async (
  program: Program,
  { before, current }: Pick<ShellLine, "before" | "current">,
): Promise<Candidates> => {
  const { root, command, given, operands } = await parseArgv(program, [...before, cursorMark]);
  const options = Object.entries(listOptions(command, root));
  const typedOperands = operands.filter((word) => !/^-./.test(word));
  const pendingOption = options.find(([name]) => given.get(name)?.at(-1) === cursorMark);
  if (pendingOption) return suggestValues(...pendingOption);
  if (!before.includes("--") && current.startsWith("-")) {
    const [typed = "", ...rest] = current.split("=");
    if (rest.length > 0) {
      const [name, kind] = options.find(([long, { short }]) => typed === `--${long}` || typed === `-${short}`) ?? [];
      if (!kind) return [];
      const values = suggestValues(name, kind);
      return typeof values === "string"
        ? values
        : values.map(({ text, about }) => ({ text: `${typed}=${text}`, about }));
    }
    return options.flatMap(([name, kind]) => {
      const { short, repeatable } = kind;
      const about = formatAbout(kind);
      if (!repeatable && (given.has(name) || (name === "help" && given.has("h")))) return [];
      const hasShort = short !== undefined && !current.startsWith("--");
      return [{ text: `--${name}`, about }, ...(hasShort ? [{ text: `-${short}`, about }] : [])];
    });
  }
  if (typedOperands.length === 0 && command.subcommands.length > 0) {
    const verbs = command.subcommands.map((verb) => ({ text: lastWord(verb), about: verb.about }));
    return command.run ? verbs : [...verbs, { text: "help", about: "print the help of a command" }];
  }
  const args = Object.entries(command.args);
  const [name, kind] = args[typedOperands.length] ?? args.findLast((arg) => arg[1].repeatable) ?? [];
  return kind ? suggestValues(name, kind) : [];
};

type Candidates = readonly Candidate[] | "files" | "folders";

const suggestValues = (name: string | undefined, { choices, placeholder }: OptionKind<unknown>): Candidates => {
  if (choices) return choices.map((text) => ({ text, about: "" }));
  const names = [placeholder, name];
  if (names.includes("file")) return "files";
  return names.includes("dir") || names.includes("folder") ? "folders" : [];
};

export const scripts = { bash, zsh, fish, powershell };
