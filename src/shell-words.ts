/** Words as a shell reads and writes them: quotes are taken off and put on, nothing is ever expanded or run. */

interface TypedWord {
  /** As it stands in the line. */
  readonly raw: string;
  /** Without its quotes. */
  readonly text: string;
  /** The quote that is open at its end, and where in `raw` it was opened. */
  readonly open: { readonly quote: Quote; readonly at: number };
  /** Whether the word ends in a backslash that escapes nothing yet. */
  readonly isEscaping: boolean;
}

/** A kind of quotes; empty for none. */
type Quote = "" | "'" | '"';

/** Whose rules the words follow: in `windows`, single quotes are letters, and a backslash escapes double quotes alone. */
interface ShellRules {
  readonly windows: boolean;
}

/** The words of a line. The last is the one that is being typed: empty behind white space. */
export const splitWords = (line: string, rules: ShellRules = { windows: false }): readonly TypedWord[] => {
  const words: TypedWord[] = [];
  let at = 0;
  for (;;) {
    while (isBlank(line[at])) at++;
    const word = splitWord(line, at, rules);
    words.push(word);
    at += word.raw.length;
    if (at >= line.length) return words;
  }
};

/** The words of a whole command line; undefined where a quote or a last backslash is left open. */
export const splitCommandLine = (line: string, rules: ShellRules): readonly string[] | undefined => {
  const words = splitWords(line, rules);
  const last = words.at(-1);
  if (last === undefined || last.open.quote !== "" || last.isEscaping) return undefined;
  return words.filter(({ raw }) => raw !== "").map(({ text }) => text);
};

const splitWord = (line: string, start: number, { windows }: ShellRules): TypedWord => {
  let text = "";
  let escaping = false;
  let open: TypedWord["open"] = { quote: "", at: 0 };
  let at = start;
  for (; at < line.length && (open.quote !== "" || !isBlank(line[at])); at++) {
    const char = line[at] ?? "";
    const next = line[at + 1] ?? "";
    const end = open.quote === "'" ? at : findSubstitutionEnd(line, at);
    if (end > at) {
      text += line.slice(at, end);
      at = end - 1;
    } else if (char === open.quote) open = { quote: "", at: 0 };
    else if (open.quote === "" && (char === '"' || (char === "'" && !windows))) {
      open = { quote: char, at: at - start };
    } else if (char === "\\" && next !== "" && (windows ? next === '"' : canEscape(open.quote, next))) {
      text += next;
      at++;
    } else {
      text += char;
      escaping = char === "\\" && next === "" && open.quote === "" && !windows;
    }
  }
  return { raw: line.slice(start, at), text, open, isEscaping: escaping };
};

/** Offset behind the command substitution that stands at `at`, which stays as it is; `at` itself where none does. */
const findSubstitutionEnd = (line: string, at: number): number => {
  if (line[at] === "`") return line.indexOf("`", at + 1) + 1;
  if (line[at] !== "$" || line[at + 1] !== "(") return at;
  let depth = 0;
  for (let end = at + 1; end < line.length; end++) {
    if (line[end] === "(") depth++;
    else if (line[end] === ")" && --depth === 0) return end + 1;
  }
  return at;
};

const isBlank = (char: string | undefined): boolean => char !== undefined && " \t\r\n".includes(char);

/** Whether a backslash takes its meaning from what follows it. */
const canEscape = (quote: Quote, next: string): boolean => quote === "" || (quote === '"' && /["$`\\\n]/.test(next));

/** A text with the quotes that make a shell read it as itself; undefined where there are none. */
export const quoteText = (text: string, quote: Quote): string | undefined => {
  if (quote === "'") return text.replaceAll("'", "'\\''");
  // Inside double quotes nothing makes an exclamation mark harmless: it may call an old command back.
  if (quote === '"') return text.includes("!") ? undefined : text.replaceAll(/["$`\\]/g, "\\$&");
  return text.replaceAll(/[^\w@%+=:,./-]/g, (char) => (char > "\u007f" ? char : `\\${char}`));
};

/** A command that can be pasted into a shell. */
export const formatCommandLine = (words: readonly string[]): string =>
  words.map((word) => (word !== "" && quoteText(word, "") === word ? word : `'${quoteText(word, "'")}'`)).join(" ");
