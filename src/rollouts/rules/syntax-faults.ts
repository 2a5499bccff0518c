/** Reports faults of JSON, in rollcall's format and in records of other tools. */
import type { Fault, SyntaxFault } from "../../json/reader.ts";
import type { RuleData, RuleName } from "./rules.ts";

export type Reporter = <Name extends RuleName>(rule: Name, data: RuleData<Name>) => void;

export type FaultyText = Readonly<{
  bytes: Buffer;
  fault: SyntaxFault;
  isLast?: boolean;
  isDocument?: boolean;
  isFormatGiven?: boolean;
  /** The key of the value. Default: the key before the fault. */
  key?: string | undefined;
}>;

export const reportSyntaxFault = (text: FaultyText, report: Reporter) => {
  const { fault } = text.fault;
  const { isLast: last = false, isDocument = false } = text;
  if (fault === "end") report("json-truncated", { last, isDocument });
  else reportWord(text, fault, report);
};

const reportWord = (
  { bytes, fault: { at }, key, isDocument = false, isFormatGiven = false }: FaultyText,
  fault: Exclude<Fault, "end">,
  report: Reporter,
) => {
  const [word = ""] = /^-?\w*/.exec(bytes.toString("latin1", at, at + maxWordLength)) ?? [];
  const textBefore = bytes.toString("latin1", Math.max(0, at - maxBytesBefore), at).trimEnd();
  const number = { word, key: key ?? /"([^"\\]*)"\s*:$/.exec(textBefore)?.[1] };
  const isWord = fault === "word";
  if (isWord && /^(?:nan|-?inf(?:inity)?)$/i.test(word)) return report("json-not-finite", number);
  const isPython = isWord && /^(?:True|False|None)$/.test(word);
  const character = formatCharacter(bytes, at);
  report("json-syntax", { fault: isPython ? "python" : fault, word, character, isDocument, isFormatGiven });
};

const maxWordLength = 40;

const maxBytesBefore = 2 ** 12;

const formatCharacter = (bytes: Buffer, at: number) => {
  const character = Array.from(bytes.toString("utf8", at, at + 4))[0] ?? "the end";
  const code = character.codePointAt(0) ?? 0;
  return /^[\p{C}\p{Z}]$/u.test(character) ? `U+${code.toString(16).toUpperCase().padStart(4, "0")}` : character;
};
