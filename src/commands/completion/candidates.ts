/** What can be typed next: found in the command tree, by the words before. */
import {
  allOptions,
  type Command,
  type Kind,
  nameOf,
  type Program,
  readWords,
  type Typed,
  verbsOf,
} from "../../cli/index.ts";

/** One word that can be typed. */
export interface Candidate {
  readonly text: string;
  /** What it is, in a few words; empty if that says nothing. */
  readonly about: string;
}

/** What can be typed: some of these words, or the path of a file or folder that the shell knows. */
export type Candidates =
  | { readonly kind: "words"; readonly words: readonly Candidate[] }
  | { readonly kind: "files" | "folders" };

/** What an option or an argument is given: `typed` is the beginning of its value. */
export interface Asked {
  readonly command: Command;
  /** `--sort`, or `catalog show <id>`. */
  readonly name: string;
  readonly kind: Kind<unknown>;
  readonly typed: string;
  /** The arguments of the command before. */
  readonly taken: readonly string[];
  /** The options before. */
  readonly given: Typed["given"];
}

/** The values of an option or an argument; undefined if it can be anything. */
export type ValueKind = readonly Candidate[] | "files" | "folders" | undefined;

/** Where it is read tells what is typed next: nobody types it. */
const mark = "-\0";

/** Finds what can be typed after whole words, and after the beginning of the next. */
export const candidates = async (
  program: Program,
  { before, current }: { readonly before: readonly string[]; readonly current: string },
  valuesOf: (asked: Asked) => ValueKind | Promise<ValueKind>,
): Promise<Candidates> => {
  const { command, above, given, operands, unknown } = await readWords(program, [...before, mark]);
  const options = allOptions(command, above[0] ?? command);
  const taken = [...operands, ...unknown.filter((word) => !word.startsWith("-"))].filter((word) => word !== mark);
  const valuesFor = async (name: string, kind: Kind<unknown>, prefix = ""): Promise<Candidates> => {
    const values = await valuesOf({ command, name, kind, typed: current.slice(prefix.length), taken, given });
    if (values === "files" || values === "folders") return { kind: values };
    return wordsOf((values ?? []).map(({ text, about }) => ({ text: prefix + text, about })));
  };
  const waiting = Object.entries(options).find(([name]) => given.get(name)?.at(-1) === mark);
  if (waiting !== undefined) return await valuesFor(`--${waiting[0]}`, waiting[1]);
  if (operands.at(-1) !== mark && current.startsWith("-")) {
    const [typed = "", ...rest] = current.split("=");
    if (rest.length === 0) return wordsOf(optionWords(Object.entries(options), given, current));
    const found = Object.entries(options).find(([name, { short }]) => typed === `--${name}` || typed === `-${short}`);
    return found?.[1].value === undefined ? wordsOf([]) : await valuesFor(`--${found[0]}`, found[1], `${typed}=`);
  }
  if (taken.length === 0 && command.verbs.length > 0) return wordsOf(commandWords(command));
  const args = Object.entries(command.args);
  const [name, kind] = args[taken.length] ?? args.filter((arg) => arg[1].repeatable).at(-1) ?? [];
  if (name === undefined || kind === undefined) return wordsOf([]);
  return await valuesFor(`${command.words} <${name}>`, kind);
};

const wordsOf = (words: readonly Candidate[]): Candidates => ({ kind: "words", words });

const optionWords = (
  options: readonly (readonly [name: string, kind: Kind<unknown>])[],
  given: Typed["given"],
  current: string,
): readonly Candidate[] =>
  options
    .filter(([name, { repeatable }]) => repeatable || !(given.has(name) || (name === "help" && given.has("h"))))
    .flatMap(([name, { short, about }]) => {
      const texts = current.startsWith("--") || short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
      return texts.map((text) => ({ text, about }));
    });

const commandWords = (command: Command): readonly Candidate[] => [
  ...verbsOf(command).map((verb) => ({ text: nameOf(verb), about: verb.about })),
  ...(command.run === undefined ? [{ text: "help", about: "display help for command" }] : []),
];
