/** Says by which rule text is not JSON, in words for each fault, and how to mend it. */

import { type Fault, keyBefore, type SyntaxFault, wordAt } from "../../../json/fault.ts";
import { comma } from "../../../json/walk.ts";
import type { RuleData, RuleName } from "../../rules/rules.ts";

type ReportFault = <Name extends RuleName>(rule: Name, data: RuleData<Name>) => void;

const pythonWords: ReadonlySet<string> = new Set(["True", "False", "None"]);

/** Says by which rule a fault is one. */
export const reportFault = (
  bytes: Buffer,
  { fault: { at, fault }, last, report }: { fault: SyntaxFault; last: boolean; report: ReportFault },
): void => {
  const word = wordAt(bytes, at);
  if (fault === "end") report("json-cut-off", { last });
  else if (fault === "more") report("json-after", undefined);
  else if (fault === "single-quote") report("json-single-quotes", undefined);
  else if (fault === "comment") report("json-comment", undefined);
  else if (fault === "word" && word.toLowerCase() === "nan") report("json-nan", { word, key: keyBefore(bytes, at) });
  else if (fault === "word" && /^-?inf(inity)?$/i.test(word))
    report("json-infinity", { word, key: keyBefore(bytes, at) });
  else if (fault === "word" && pythonWords.has(word)) report("json-python", { word });
  else {
    const [text, before] = [characterAt(bytes, at), byteBefore(bytes, at)];
    const isComma = fault !== "comma" || before === comma || text === ",";
    report("json-syntax", {
      wrong: wrongWords[fault]({ word, text, before }),
      instead: isComma ? mends[fault] : undefined,
    });
  }
};

/** What stands at a fault: the word, the character, and the byte before it that is no white space. */
type Seen = { readonly word: string; readonly text: string; readonly before: number | undefined };

const byteBefore = (bytes: Buffer, at: number): number | undefined => {
  let before = at - 1;
  while (before >= 0 && (bytes[before] ?? 0) <= 0x20) before--;
  return bytes[before];
};

const wrongWords: Readonly<Record<Fault, (seen: Seen) => string>> = {
  end: () => "the text ends here",
  more: () => "something follows the value",
  word: ({ word }) => `${word} is not JSON`,
  "single-quote": () => "a single quote can't stand here",
  comment: () => "a comment can't stand here",
  comma: ({ text, before }) => {
    if (text !== "," && before === comma) return `nothing stands between a comma and ${text}`;
    return text !== "," && before === undefined ? `${text} closes nothing` : `a value is missing before ${text}`;
  },
  control: () => "a control character stands unescaped in a string",
  escape: () => "this escape is not JSON",
  number: () => "this number is not JSON",
  character: ({ text }) => `${text} can't stand here`,
};

/** What to do about a fault that is no rule of its own. */
const mends: Readonly<Partial<Record<Fault, string>>> = {
  comma: "leave one comma out",
  control: "write it as an escape, such as \\n or \\t",
  escape: "JSON has \\u0041 for \\x41, and a backslash itself is \\\\",
  number: "a number has digits on both sides of its point, and neither + nor zeros in front",
};

/** The character at an offset; one that nobody can see by its number. */
const characterAt = (bytes: Buffer, at: number): string => {
  const character = Array.from(bytes.toString("utf8", at, at + 4))[0] ?? "the end";
  const code = character.codePointAt(0) ?? 0;
  return /^[\p{C}\p{Z}]$/u.test(character) ? `U+${code.toString(16).toUpperCase().padStart(4, "0")}` : character;
};
