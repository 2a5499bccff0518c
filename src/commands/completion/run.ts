/** Completion scripts, and the candidates that they request in the format of each shell. */
import zsh from "../../../completions/_rollcall?raw";
import bash from "../../../completions/rollcall.bash?raw";
import fish from "../../../completions/rollcall.fish?raw";
import powershell from "../../../completions/rollcall.ps1?raw";
import * as cli from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { quoteText, splitWords } from "../../shell-words.ts";
import { type Candidate, type Candidates, suggestValues } from "./values.ts";

const scripts = { bash, zsh, fish, powershell };

export const printScript = async ({ screen }: Context, shell: keyof typeof scripts): Promise<void> =>
  await screen.printText(scripts[shell]);

interface CompletionRequest {
  readonly program: cli.Program;
  readonly shell: string;
  /**
   * bash: the line up to the cursor, and the part of it that bash will replace. zsh, fish: the current word after a
   * colon, which keeps it from being empty, then the words before it. powershell: the same words in base64, separated
   * by NUL, because it loses quotes and empty words.
   */
  readonly typed: readonly string[];
}

/** Prints the candidates. Prints no errors, because they would break the prompt. */
export const printCandidates = async (context: Context, asked: CompletionRequest): Promise<void> => {
  const lines = await completionLines(context, asked).catch(() => []);
  await context.screen.printText(lines.map((line) => `${line}\n`).join(""));
};

/** The lines of the answer: `words`, `files` or `folders`, then the words. */
const completionLines = async (
  context: Context,
  { program, shell, typed }: CompletionRequest,
): Promise<readonly string[]> => {
  const { current, before, format: write } = shell === "bash" ? parseBashLine(typed) : parseShellWords(shell, typed);
  if (isRedirection(before.at(-1))) return ["files"];
  const words = before.filter((word, at) => !isRedirection(word) && !isRedirection(before[at - 1]));
  const found = await findCandidates(context, program, { before: words, current });
  if (typeof found === "string") return [found];
  // Control characters cannot be typed.
  const plain = found.filter(({ text }) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(text));
  return ["words", ...plain.flatMap((one) => write(one) ?? [])];
};

/** True for `<`, `2>` and the like. The shell consumes the operator and the file after it. */
const isRedirection = (word: string | undefined): boolean => word !== undefined && /^(\d*|&)(<|>{1,2}\|?)$/.test(word);

interface Line {
  readonly before: readonly string[];
  readonly current: string;
}

interface ShellLine extends Line {
  /** Returns a line of the answer; undefined if the candidate does not fit. */
  readonly format: (word: Candidate) => string | undefined;
}

/** bash replaces only the part after its last word break (`=`, `:`), so the answer is the rest in the open quotes. */
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
      const rest = quoteText(text.slice(keptText.length), quote);
      return quote !== "" && at >= keptPart.length && rest !== undefined ? quote + rest : rest;
    },
  };
};

const parseShellWords = (shell: string, typed: readonly string[]): ShellLine => {
  const isPowershell = shell === "powershell";
  const words = isPowershell
    ? Buffer.from(typed[0] ?? "", "base64")
        .toString()
        .split("\0")
    : typed;
  const [markedWord = "", ...before] = words;
  const raw = markedWord.slice(1);
  // fish and PowerShell pass the word with its quotes.
  const current = shell === "zsh" ? raw : (splitWords(raw).at(-1)?.text ?? "");
  const write = ({ text, about }: Candidate) =>
    isPowershell && !text.startsWith(current) ? undefined : `${text}\t${about.replaceAll(/\s+/g, " ")}`;
  return { before, current, format: write };
};

/** A word that nobody types: the parser puts it where the current word belongs. */
const cursorMark = "-\0";

const findCandidates = async (
  context: Context,
  program: cli.Program,
  { before, current }: Line,
): Promise<Candidates> => {
  const { command, above, given, operands, unknown } = await cli.parseArgv(program, [...before, cursorMark]);
  const options = Object.entries(cli.listOptions(command, above[0] ?? command));
  const taken = [...operands, ...unknown.filter((word) => !word.startsWith("-"))].filter((word) => word !== cursorMark);
  const valuesFor = async (name: string, kind: cli.Kind<unknown>, prefix = ""): Promise<Candidates> => {
    const typed = current.slice(prefix.length);
    const values = await suggestValues({ context, command, name, kind, typed, operands: taken, optionValues: given });
    return typeof values === "string" ? values : values.map(({ text, about }) => ({ text: prefix + text, about }));
  };
  const pendingOption = options.find(([name]) => given.get(name)?.at(-1) === cursorMark);
  if (pendingOption !== undefined) return await valuesFor(`--${pendingOption[0]}`, pendingOption[1]);
  if (operands.at(-1) !== cursorMark && current.startsWith("-")) {
    const [typed = "", ...rest] = current.split("=");
    if (rest.length > 0) {
      const found = options.find(([name, { short }]) => typed === `--${name}` || typed === `-${short}`);
      return found?.[1].placeholder === undefined ? [] : await valuesFor(`--${found[0]}`, found[1], `${typed}=`);
    }
    const isLeft = ([name, { repeatable }]: (typeof options)[number]) =>
      repeatable || !(given.has(name) || (name === "help" && given.has("h")));
    return options
      .filter(isLeft)
      .flatMap(([name, { short, about }]) => [
        { text: `--${name}`, about },
        ...(current.startsWith("--") || short === undefined ? [] : [{ text: `-${short}`, about }]),
      ]);
  }
  if (taken.length === 0 && command.verbs.length > 0) return verbCandidates(command);
  const args = Object.entries(command.args);
  const [name, kind] = args[taken.length] ?? args.filter((arg) => arg[1].repeatable).at(-1) ?? [];
  return name === undefined || kind === undefined ? [] : await valuesFor(`${command.words} <${name}>`, kind);
};

const verbCandidates = (command: cli.Command): readonly Candidate[] => [
  ...cli.visibleVerbs(command).map((verb) => ({ text: cli.lastWord(verb), about: verb.about })),
  ...(command.run === undefined ? [{ text: "help", about: "print the help of a command" }] : []),
];
