/** Counts all problems, and stores some problems of each rule. */

import type { Problem, Severity } from "../../failure.ts";
import type { Fault, SyntaxFault } from "../../json/reader.ts";
import { redactText } from "./known-secrets.ts";
import type { RuleText } from "./rule.ts";
import { defaultStrictness, getRule, getRuleSubject, type RuleData, type RuleName, type Strictness } from "./rules.ts";

const maxPerRule = 1000;

/** The limit for errors if the run writes a reasons file. */
const maxPerRuleWithRejects = 100_000;

export type ProblemLocation = Pick<Problem, "file" | "line" | "column" | "path" | "offset" | "readAt" | "readPath">;
export type RuleCount = Readonly<{ rule: string; severity: Severity; count: number }>;

/** Redacts secrets in the message and the advice. */
export const createProblem = <Name extends RuleName>(
  rule: Name,
  data: RuleData<Name>,
  location: ProblemLocation = {},
): Problem => {
  const { severity, message, advice } = getRule(rule);
  // JSON escapes can spell halves of characters.
  const format = (text: RuleText<RuleData<Name>>) =>
    typeof text === "string" ? text : redactText(text(data)).toWellFormed();
  return { ...location, rule, severity, message: format(message), advice: format(advice) };
};

type RuleProblems = { severity: Severity; count: number; stored: Problem[]; lastInput: string | undefined };

export class Problems {
  readonly strictness: Strictness;
  inputs: readonly string[] = [];
  input: string | undefined;
  readonly #byRule = new Map<string, RuleProblems>();
  readonly #inputRules = new Set<string>();
  #isPromoting: boolean;

  constructor(strictness: Strictness = defaultStrictness) {
    this.strictness = strictness;
    this.#isPromoting = strictness.strict && strictness.isDeferred !== true;
  }

  /** Returns undefined if `--allow` silences the rule. Calls `location` only for stored problems. */
  report<Name extends RuleName>(
    name: Name,
    data: RuleData<Name>,
    location: ProblemLocation | (() => ProblemLocation) = {},
  ) {
    if (this.strictness.allowed.has(name)) return undefined;
    const entry = this.#entryFor(name, this.#isPromoting ? "error" : getRule(name).severity);
    entry.count++;
    if (this.#canAdd(entry, this.input)) {
      const located = typeof location === "function" ? location() : location;
      entry.stored.push({ ...createProblem(name, data, located), severity: entry.severity });
      entry.lastInput = this.input;
    }
    return entry.severity;
  }

  #entryFor(name: string, severity: Severity) {
    const entry = this.#byRule.get(name) ?? { severity, count: 0, stored: [], lastInput: undefined };
    if (entry.count === 0) this.#byRule.set(name, entry);
    return entry;
  }

  #canAdd({ severity, stored, lastInput }: RuleProblems, input: string | undefined) {
    const { writesRejects = false, strict } = this.strictness;
    const max = writesRejects && (strict || severity === "error") ? maxPerRuleWithRejects : maxPerRule;
    return stored.length < max || lastInput !== input;
  }

  /** With `--strict`, makes all warnings errors. */
  promoteWarnings() {
    this.#isPromoting = this.strictness.strict;
    if (!this.#isPromoting) return;
    for (const entry of this.#byRule.values()) {
      entry.severity = "error";
      entry.stored = entry.stored.map((problem) => ({ ...problem, severity: "error" }));
    }
  }

  /** Replaces all problems of the rule with one error. `--allow` does not silence this error. */
  replaceWithError<Name extends RuleName>(name: Name, data: RuleData<Name>, location: ProblemLocation = {}) {
    const severity = "error";
    const stored = [{ ...createProblem(name, data, location), severity }] satisfies Problem[];
    this.#byRule.set(name, { severity, count: 1, stored, lastInput: undefined });
    this.addInputRule(name);
  }

  addInputRule(name: RuleName) {
    this.#inputRules.add(name);
  }

  /** True if an error is about the whole input. */
  get isInputBroken() {
    const isOfInput = (rule: string) => this.#inputRules.has(rule) || getRuleSubject(rule) === "input";
    return this.counts.some(({ rule, severity }) => severity === "error" && isOfInput(rule));
  }

  async relocate(locate: (problem: Problem) => Promise<ProblemLocation | undefined>) {
    for (const { stored } of this.#byRule.values()) {
      for (const [at, problem] of stored.entries()) {
        const location = await locate(problem);
        if (!location) continue;
        const { rule, severity, message, advice } = problem;
        stored[at] = { rule, severity, message, advice, ...location };
      }
    }
  }

  merge(later: Problems) {
    for (const rule of later.#inputRules) this.#inputRules.add(rule);
    for (const [name, { severity, count, stored }] of later.#byRule) {
      if (severity === "warning" && this.strictness.allowed.has(name)) continue;
      const entry = this.#entryFor(name, this.#isPromoting ? "error" : severity);
      entry.count += count;
      for (const problem of stored) {
        if (!this.#canAdd(entry, problem.file)) continue;
        entry.stored.push({ ...problem, severity: entry.severity });
        entry.lastInput = problem.file;
      }
    }
  }

  get counts(): readonly RuleCount[] {
    return Array.from(this.#byRule, ([rule, { severity, count }]) => ({ rule, severity, count }));
  }

  get errors() {
    return this.counts.reduce((sum, { severity, count }) => sum + (severity === "error" ? count : 0), 0);
  }

  /** Sorts by the order of `inputs`, then by file name, line and column. */
  sorted(): readonly Problem[] {
    const order = new Map(this.inputs.map((name, at) => [name, at]));
    const rank = ({ file = "" }: Problem) => order.get(file) ?? order.size;
    // Creating a collator takes 15 ms.
    let collator: Intl.Collator | undefined;
    const byName = ({ file: a = "" }: Problem, { file: b = "" }: Problem) => {
      if (a === b) return 0;
      collator ??= new Intl.Collator("en", { numeric: true });
      return collator.compare(a, b);
    };
    const byPosition = (a: Problem, b: Problem) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
    const problems = [...this.#byRule.values()].flatMap(({ stored }) => stored);
    return problems.sort((a, b) => rank(a) - rank(b) || byName(a, b) || byPosition(a, b));
  }
}

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
