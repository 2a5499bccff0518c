/** Splits and quotes words as a shell does, and names this program in commands as the user started it. */

import { harmfulCharacters } from "./sanitize.ts";

type Quote = "" | "'" | '"';

/** If the line ends with white space, the last word is empty. */
export const splitWords = (line: string) => {
  const words: ReturnType<typeof splitWord>[] = [];
  let at = 0;
  for (;;) {
    while (isBlank(line[at])) at++;
    const word = splitWord(line, at);
    words.push(word);
    at += word.raw.length;
    if (at >= line.length) return words;
  }
};

const splitWord = (line: string, start: number) => {
  let text = "";
  let open: { quote: Quote; at: number } = { quote: "", at: 0 };
  let at = start;
  for (; at < line.length && (open.quote !== "" || !isBlank(line[at])); at++) {
    const char = line[at] ?? "";
    const next = line[at + 1] ?? "";
    if (char === open.quote) open = { quote: "", at: 0 };
    else if (open.quote === "" && (char === '"' || char === "'")) {
      open = { quote: char, at: at - start };
    } else if (char === "\\" && next !== "" && canEscape(open.quote, next)) {
      text += next;
      at++;
    } else text += char;
  }
  return { raw: line.slice(start, at), text, open };
};

const isBlank = (char: string | undefined) => char !== undefined && " \t\r\n".includes(char);
const canEscape = (quote: Quote, next: string) => quote === "" || (quote === '"' && /["$`\\\n]/.test(next));

/** White space that output replaces, and characters that it removes. */
const unprintable = new RegExp(`[^\\S ]|${harmfulCharacters.source}`, "gu");

const escapeCharacter = (char: string) => {
  if (char === "\n") return "\\n";
  const digits = (char.codePointAt(0) ?? 0).toString(16);
  return digits.length <= 4 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
};

const quoteWord = (word: string) => {
  const escaped = word.replaceAll(/[\\']/g, "\\$&").replaceAll(unprintable, escapeCharacter);
  if (word.search(unprintable) >= 0) return `$'${escaped}'`;
  return /^[\w@%+=:,./\u0080-\uffff-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
};

/** A word with line ends, or with characters that output removes, needs a shell that knows `$'\n'`. */
export const formatCommandLine = (words: readonly string[]) => words.map(quoteWord).join(" ");

let programName = "rollcall";

/**
 * A package starts through a link in the PATH, a checkout with `node bin/rollcall.js`.
 * @param folder the current folder
 */
export const nameProgramAfter = (script: string, folder: string) => {
  const isInstalled = /[\\/]node_modules[\\/]/.test(script);
  const name = script.split(/[\\/]/).at(-1) ?? script;
  const path = script.startsWith(`${folder}/`) ? script.slice(folder.length + 1) : script;
  const words = /\.[cm]?js$/.test(name) ? ["node", path] : [name];
  programName = isInstalled ? "rollcall" : formatCommandLine(words);
};

/** @param args the words after the program's name */
export const formatOwnCommand = (args: readonly string[]) => `${programName} ${formatCommandLine(args)}`;

/** Replaces `rollcall` at the start of commands in backticks. */
export const nameProgram = (text: string) =>
  text.replace(/`[^`]+`/g, (command) => command.replace(/(?<=^`|[|;] )rollcall(?= )/g, () => programName));
