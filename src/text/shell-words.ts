/** Splits and quotes words as a shell does. */

type Quote = "" | "'" | '"';

/** On Windows, a single quote is a normal character, and a backslash escapes only a double quote. */
type ShellRules = { readonly windows: boolean };

/** If the line ends with white space, the last word is empty. */
export const splitWords = (line: string, rules: ShellRules = { windows: false }) => {
  const words: ReturnType<typeof splitWord>[] = [];
  let at = 0;
  for (;;) {
    while (isBlank(line[at])) at++;
    const word = splitWord(line, at, rules);
    words.push(word);
    at += word.raw.length;
    if (at >= line.length) return words;
  }
};

export const splitCommandLine = (line: string, rules: ShellRules): readonly string[] | undefined => {
  const words = splitWords(line, rules);
  const last = words.at(-1);
  if (last?.open.quote !== "" || last.isEscaping) return undefined;
  return words.filter(({ raw }) => raw !== "").map(({ text }) => text);
};

const splitWord = (line: string, start: number, { windows }: ShellRules) => {
  let text = "";
  let isEscaping = false;
  let open: { quote: Quote; at: number } = { quote: "", at: 0 };
  let at = start;
  for (; at < line.length && (open.quote !== "" || !isBlank(line[at])); at++) {
    const char = line[at] ?? "";
    const next = line[at + 1] ?? "";
    if (char === open.quote) open = { quote: "", at: 0 };
    else if (open.quote === "" && (char === '"' || (char === "'" && !windows))) {
      open = { quote: char, at: at - start };
    } else if (char === "\\" && next !== "" && (windows ? next === '"' : canEscape(open.quote, next))) {
      text += next;
      at++;
    } else {
      text += char;
      isEscaping = char === "\\" && next === "" && open.quote === "" && !windows;
    }
  }
  return { raw: line.slice(start, at), text, open, isEscaping };
};

const isBlank = (char: string | undefined) => char !== undefined && " \t\r\n".includes(char);
const canEscape = (quote: Quote, next: string) => quote === "" || (quote === '"' && /["$`\\\n]/.test(next));

export const quoteText = (text: string, quote: Quote) => {
  if (quote === "'") return text.replaceAll("'", "'\\''");
  // In double quotes, a shell may replace `!` with an earlier command.
  if (quote === '"') return text.includes("!") ? undefined : text.replaceAll(/["$`\\]/g, "\\$&");
  return text.replaceAll(/[^\w@%+=:,./-]/g, (char) => (char > "\u007f" ? char : `\\${char}`));
};

export const formatCommandLine = (words: readonly string[]) =>
  words.map((word) => (word !== "" && quoteText(word, "") === word ? word : `'${quoteText(word, "'")}'`)).join(" ");
