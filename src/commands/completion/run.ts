/** What `rollcall completion` does, and what its scripts ask: the words that can be typed next, written as each shell wants them. */
import zsh from "../../../completions/_rollcall?raw";
import bash from "../../../completions/rollcall.bash?raw";
import fish from "../../../completions/rollcall.fish?raw";
import powershell from "../../../completions/rollcall.ps1?raw";
import type { Program } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { quoted, readWords } from "../../shell-words.ts";
import { type Candidates, candidates } from "./candidates.ts";
import { valuesIn } from "./values.ts";

/** The scripts, as they are committed. */
const scripts = { bash, zsh, fish, powershell };

/** Prints the script of a shell. */
export const printScript = async ({ screen }: Context, shell: keyof typeof scripts): Promise<void> =>
  await screen.text(scripts[shell]);

/** Prints what can be typed next. Never fails: an error in the middle of a prompt helps nobody. */
export const printCandidates = async (context: Context, asked: Asked): Promise<void> => {
  const lines = await answer(context, asked).catch(() => []);
  await context.screen.text(lines.map((line) => `${line}\n`).join(""));
};

/** What a script asks. */
interface Asked {
  readonly program: Program;
  readonly shell: string;
  /**
   * bash: the line up to the cursor, and the end of it that will be replaced. zsh, fish: the word that is being typed
   * behind a colon, which keeps it from being empty, and the words before. powershell: the same words in base64,
   * with NUL between them, since it loses quotes and empty words on the way.
   */
  readonly typed: readonly string[];
}

/** The lines of the answer: the kind of what can be typed (`words`, `files`, `folders`), then the words. */
const answer = async (context: Context, { program, shell, typed }: Asked): Promise<readonly string[]> => {
  const { current, before, write } = shell === "bash" ? readBash(typed) : readOthers(shell, typed);
  if (isRedirection(before.at(-1))) return ["files"];
  const words = before.filter((word, at) => !isRedirection(word) && !isRedirection(before[at - 1]));
  const found = await candidates(program, { before: words, current }, valuesIn(context));
  return [found.kind, ...plainWords(found).flatMap((one) => write(one) ?? [])];
};

/** `<`, `2>` and the like: what follows is a file, and neither is a word for rollcall. */
const isRedirection = (word: string | undefined): boolean => word !== undefined && /^(\d*|&)(<|>{1,2}\|?)$/.test(word);

interface Word {
  readonly text: string;
  readonly about: string;
}

interface Typed {
  readonly before: readonly string[];
  readonly current: string;
  /** A line of the answer; undefined for what can't be typed here. */
  readonly write: (word: Word) => string | undefined;
}

/** Names that hold control characters are left out: no shell can have them typed for it. */
const plainWords = (found: Candidates): readonly Word[] =>
  found.kind !== "words"
    ? []
    : found.words.filter(({ text }) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(text));

/**
 * bash replaces only what stands behind the last of its word breaks (`=`, `:`), and takes the answer as it is:
 * what is answered is the rest of the word, in the quotes that are open.
 */
const readBash = ([line = "", replaced = ""]: readonly string[]): Typed => {
  const words = readWords(line);
  const last = words.at(-1) ?? { raw: "", text: "", open: { quote: "", at: 0 } as const };
  const kept = last.raw.endsWith(replaced) ? last.raw.slice(0, last.raw.length - replaced.length) : "";
  const { quote, at } = last.open;
  const keptText = readWords(kept).at(-1)?.text ?? "";
  return {
    before: words.slice(1, -1).map(({ text }) => text),
    current: last.text,
    write: ({ text }) => {
      if (!text.startsWith(last.text)) return undefined;
      const rest = quoted(text.slice(keptText.length), quote);
      return quote !== "" && at >= kept.length && rest !== undefined ? quote + rest : rest;
    },
  };
};

const readOthers = (shell: string, typed: readonly string[]): Typed => {
  const words = shell === "powershell" ? decoded(typed[0] ?? "") : typed;
  const [marked = "", ...before] = words;
  const raw = marked.slice(1);
  // fish and PowerShell hand over the word as it was typed, with its quotes.
  const text = shell === "zsh" ? raw : (readWords(raw).at(-1)?.text ?? "");
  return {
    before,
    current: text,
    write: (word) => {
      if (shell === "powershell" && !word.text.startsWith(text)) return undefined;
      return `${word.text}\t${word.about.replaceAll(/\s+/g, " ")}`;
    },
  };
};

const decoded = (base64: string): readonly string[] => Buffer.from(base64, "base64").toString("utf8").split("\0");
