/** Says by which rule text is not JSON. */
import { keyBefore, type SyntaxFault, wordAt } from "../../../json/fault.ts";
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
  else report("json-syntax", { fault, word, text: characterAt(bytes, at), before: characterBefore(bytes, at) });
};

/** The last byte before an offset that is no white space; undefined where there is none. */
const characterBefore = (bytes: Buffer, at: number): string | undefined => {
  let before = at - 1;
  while (before >= 0 && (bytes[before] ?? 0) <= 0x20) before--;
  return before < 0 ? undefined : bytes.toString("latin1", before, before + 1);
};

/** The character at an offset; one that nobody can see by its number. */
const characterAt = (bytes: Buffer, at: number): string => {
  const character = Array.from(bytes.toString("utf8", at, at + 4))[0] ?? "the end";
  const code = character.codePointAt(0) ?? 0;
  return /^[\p{C}\p{Z}]$/u.test(character) ? `U+${code.toString(16).toUpperCase().padStart(4, "0")}` : character;
};
