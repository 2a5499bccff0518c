/** Problems being collected: all are counted, a bounded number of each rule is kept, and the first of each rule in each input. */
import type { Problem, Severity } from "../../failure.ts";
import { defaultStrictness, getRule, getRuleSubject, type RuleData, type RuleName, type Strictness } from "./rules.ts";
import { redactText } from "./secrets.ts";

/** Problems kept of one rule: a file can have one on every line, and memory holds the index, not the file. */
const maxPerRule = 1000;

/** The same of errors if what is rejected is written aside: a line of which no error was kept is read once more. */
const maxPerRuleWithRejects = 100_000;

/** Where a problem is: whatever of it is known. */
export type ProblemLocation = Pick<Problem, "file" | "line" | "column" | "path" | "offset" | "readAt" | "readPath">;

/** How often a rule was broken. */
export interface RuleCount {
  readonly rule: string;
  readonly severity: Severity;
  readonly count: number;
}

/** A problem as data: the rule's words about it, without what looks like a secret, and where it is. */
export const createProblem = <Name extends RuleName>(
  name: Name,
  data: RuleData<Name>,
  spot: ProblemLocation = {},
): Problem => {
  const { severity, message: says, advice } = getRule(name);
  const [message, own] = [redactText(says(data)), redactText(advice(data))];
  return { ...spot, rule: name, severity, message, advice: own };
};

interface RuleProblems {
  readonly severity: Severity;
  count: number;
  readonly kept: Problem[];
  /** The input of the last one that was kept. */
  lastInput: string | undefined;
}

/** Problems as they go from one thread to another, by their rules. */
export type ProblemsData = ReadonlyMap<string, RuleProblems>;

/** What has a line, that many lines further down. */
export const shiftLine = <Located extends { readonly line?: number }>(located: Located, lines: number): Located =>
  located.line === undefined || lines === 0 ? located : { ...located, line: located.line + lines };

/** Problems being collected. */
export class Problems {
  readonly strictness: Strictness;
  readonly #byRule = new Map<string, RuleProblems>();
  readonly #inputRules = new Set<string>();
  /** The input that is looked at. */
  #input: string | undefined;
  /** Rules of which enough were kept before these. */
  readonly #fullRules: ReadonlySet<string>;

  constructor(judgement: Strictness = defaultStrictness, fullRules: ReadonlySet<string> = new Set()) {
    this.strictness = judgement;
    this.#fullRules = fullRules;
  }

  /** What is reported from now on is of such an input: however many were kept before, its first of each rule is kept too. */
  setInput(input: string | undefined): void {
    this.#input = input;
  }

  /**
   * Adds a problem; where it is is only asked for if it is kept.
   * Gives how serious the run takes it; undefined if its rule is silent.
   */
  report<Name extends RuleName>(name: Name, data: RuleData<Name>, spot: () => ProblemLocation): Severity | undefined {
    if (this.strictness.allowed.has(name)) return undefined;
    const own = this.#entryFor(name, this.strictness.strict ? "error" : getRule(name).severity);
    own.count++;
    if (this.canKeep(name)) {
      own.kept.push({ ...createProblem(name, data, spot()), severity: own.severity });
      own.lastInput = this.#input;
    }
    return own.severity;
  }

  #entryFor(name: string, severity: Severity): RuleProblems {
    const own = this.#byRule.get(name) ?? { severity, count: 0, kept: [], lastInput: undefined };
    if (own.count === 0) this.#byRule.set(name, own);
    return own;
  }

  /** Rules of which no other problem would be kept. */
  get enough(): ReadonlySet<string> {
    return new Set([...this.#fullRules, ...[...this.#byRule.keys()].filter((name) => !this.canKeep(name))]);
  }

  /** True if another problem of a rule would be kept. */
  canKeep(name: string): boolean {
    const own = this.#byRule.get(name);
    const isWanted = !this.strictness.allowed.has(name) && !this.#fullRules.has(name);
    return isWanted && (own === undefined || this.#canAdd(own, this.#input));
  }

  #canAdd({ severity, kept, lastInput }: RuleProblems, input: string | undefined): boolean {
    const max = this.strictness.writesRejects === true && severity === "error" ? maxPerRuleWithRejects : maxPerRule;
    return kept.length < max || lastInput !== input;
  }

  /** What a rule says is of the input as a whole, as it is of every rule that is about one. */
  breakWholeInput(name: RuleName): void {
    this.#inputRules.add(name);
  }

  /** True if an error is about the input as a whole, so that no group of it can be sent without the others. */
  get isInputBroken(): boolean {
    const isOfInput = (rule: string): boolean => this.#inputRules.has(rule) || getRuleSubject(rule) === "input";
    return this.counts.some(({ rule, severity }) => severity === "error" && isOfInput(rule));
  }

  /** Moves those that were kept to another place, if there is one. */
  async relocate(placeOf: (problem: Problem) => Promise<ProblemLocation | undefined>): Promise<void> {
    for (const { kept } of this.#byRule.values()) {
      for (const [at, problem] of kept.entries()) {
        const spot = await placeOf(problem);
        if (spot === undefined) continue;
        const { file: _file, line: _line, column: _column, path: _path, offset: _offset, ...said } = problem;
        kept[at] = { ...said, ...spot };
      }
    }
  }

  /** Takes all problems of a rule back. */
  dropRule(name: RuleName): void {
    this.#byRule.delete(name);
  }

  /** Adds those of a later range, whose lines are counted from the last of `lines` lines on. */
  merge(later: ProblemsData, lines: number): void {
    for (const [name, { severity, count, kept }] of later) {
      const own = this.#entryFor(name, severity);
      own.count += count;
      for (const problem of kept) {
        if (!this.#canAdd(own, problem.file)) continue;
        own.kept.push(shiftLine(problem, lines));
        own.lastInput = problem.file;
      }
    }
  }

  /** Those so far, or the errors among them, to be added to others. */
  toData(severity?: "error"): ProblemsData {
    return new Map([...this.#byRule].filter(([, own]) => severity === undefined || own.severity === severity));
  }

  /** How often each rule was broken. */
  get counts(): readonly RuleCount[] {
    return Array.from(this.#byRule, ([rule, { severity, count }]) => ({ rule, severity, count }));
  }

  /** Number of errors, kept or not. */
  get errors(): number {
    return this.counts.reduce((sum, { severity, count }) => sum + (severity === "error" ? count : 0), 0);
  }

  /** The problems kept, in the order of the files named, of the names of other files, and of their lines. */
  sorted(files: readonly string[]): readonly Problem[] {
    const order = new Map(files.map((name, at) => [name, at]));
    const rank = ({ file = "" }: Problem): number => order.get(file) ?? files.length;
    const byName = ({ file: a = "" }: Problem, { file: b = "" }: Problem): number => (a === b ? 0 : a < b ? -1 : 1);
    return Array.from(this.#byRule.values(), ({ kept }) => kept)
      .flat()
      .sort(
        (a, b) =>
          rank(a) - rank(b) || byName(a, b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
      );
  }
}
