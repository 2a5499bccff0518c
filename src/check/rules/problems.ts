/** Problems being collected: all of them counted, a bounded number of each rule kept, and the first of each rule in each input. */
import type { Problem, Severity } from "../../failure.ts";
import { type Judgement, lenient } from "./judgement.ts";
import { type RuleData, type RuleName, ruleOf, subjectOf } from "./rules.ts";
import { withoutSecrets } from "./secrets.ts";

/** Problems kept of one rule: a file can have one on every line, and memory holds the index, not the file. */
const maxKept = 1000;

/** The same of a rule's errors where what is rejected is written aside: a line of which no error was kept is read once more. */
const maxKeptAside = 100_000;

/** Where a problem is: whatever of it is known. */
export type Spot = Pick<Problem, "file" | "line" | "column" | "path" | "offset" | "readAt" | "readPath">;

/** How often a rule was broken. */
export interface RuleCount {
  readonly rule: string;
  readonly severity: Problem["severity"];
  readonly count: number;
}

/** A problem as data: the rule's words about it, without what looks like a secret, and where it is. */
export const problemOf = <Name extends RuleName>(name: Name, data: RuleData<Name>, spot: Spot = {}): Problem => {
  const { severity, says, advice } = ruleOf(name);
  return {
    ...spot,
    rule: name,
    severity,
    message: withoutSecrets(says(data)),
    advice: withoutSecrets(advice(data)),
  };
};

/** The problems of a rule. */
interface OfRule {
  readonly severity: Severity;
  count: number;
  readonly kept: Problem[];
  /** The input of the last one that was kept. */
  lastInput: string | undefined;
}

/** Problems as they go from one thread to another, by their rules. */
export type PackedProblems = ReadonlyMap<string, Pick<OfRule, "severity" | "count" | "kept">>;

/** What has a line, that many lines further down. */
export const movedDown = <Located extends { readonly line?: number }>(located: Located, lines: number): Located =>
  located.line === undefined || lines === 0 ? located : { ...located, line: located.line + lines };

/** Problems being collected. */
export class Problems {
  /** What is made of warnings. */
  readonly judgement: Judgement;
  readonly #byRule = new Map<string, OfRule>();
  readonly #ofInput = new Set<string>();
  /** The input that is looked at. */
  #input: string | undefined;
  /** Rules of which enough were kept before these. */
  readonly #enough: ReadonlySet<string>;

  constructor(judgement: Judgement = lenient, enough: ReadonlySet<string> = new Set()) {
    this.judgement = judgement;
    this.#enough = enough;
  }

  /** What is reported from now on is of such an input: however many problems were kept before, its first of each rule is kept too. */
  of(input: string | undefined): void {
    this.#input = input;
  }

  /**
   * Adds a problem; where it is is only asked for where it is kept.
   * Gives how serious the run takes it; undefined if its rule is silent.
   */
  report<Name extends RuleName>(name: Name, data: RuleData<Name>, spot: () => Spot): Severity | undefined {
    return this.take(name, () => data, spot);
  }

  /** The same; what the problem says is only asked for where it is kept too. */
  take<Name extends RuleName>(name: Name, data: () => RuleData<Name>, spot: () => Spot): Severity | undefined {
    if (this.judgement.allowed.has(name)) return undefined;
    const own = this.#ofRule(name, this.judgement.strict ? "error" : ruleOf(name).severity);
    own.count++;
    if (this.isKept(name)) {
      own.kept.push({ ...problemOf(name, data(), spot()), severity: own.severity });
      own.lastInput = this.#input;
    }
    return own.severity;
  }

  #ofRule(name: string, severity: Severity): OfRule {
    const known = this.#byRule.get(name);
    if (known !== undefined) return known;
    const own = { severity, count: 0, kept: [], lastInput: undefined };
    this.#byRule.set(name, own);
    return own;
  }

  /** Rules of which no other problem would be kept. */
  get enough(): ReadonlySet<string> {
    return new Set([...this.#enough, ...[...this.#byRule.keys()].filter((name) => !this.isKept(name))]);
  }

  /** True if another problem of a rule would be kept. */
  isKept(name: string): boolean {
    const own = this.#byRule.get(name);
    const isWanted = !this.judgement.allowed.has(name) && !this.#enough.has(name);
    return isWanted && (own === undefined || this.#hasRoom(own, this.#input));
  }

  #hasRoom({ severity, kept, lastInput }: OfRule, input: string | undefined): boolean {
    const max = this.judgement.setsAside === true && severity === "error" ? maxKeptAside : maxKept;
    return kept.length < max || lastInput !== input;
  }

  /** What a rule says is of the input as a whole, as it is of every rule that is about one. */
  breakInput(name: RuleName): void {
    this.#ofInput.add(name);
  }

  /** Whether an error is about the input as a whole, so that no group of it can be sent without the others. */
  get breaksInput(): boolean {
    return this.counts.some(
      ({ rule, severity }) => severity === "error" && (this.#ofInput.has(rule) || subjectOf(rule) === "input"),
    );
  }

  /** Has those that were kept told at another place, where there is one. */
  async move(placeOf: (problem: Problem) => Promise<Spot | undefined>): Promise<void> {
    for (const { kept } of this.#byRule.values()) {
      for (const [at, problem] of kept.entries()) {
        const spot = await placeOf(problem);
        if (spot === undefined) continue;
        const { file: _file, line: _line, column: _column, path: _path, offset: _offset, ...said } = problem;
        kept[at] = { ...said, ...spot };
      }
    }
  }

  /** The errors among them, with what more is known of each. */
  errorsWith(more: (problem: Problem) => Spot): Problems {
    const errors = new Problems(this.judgement);
    for (const [name, { severity, count, kept }] of this.#byRule) {
      if (severity !== "error") continue;
      const own = kept.map((problem) => ({ ...problem, ...more(problem) }));
      errors.#byRule.set(name, { severity, count, kept: own, lastInput: undefined });
    }
    return errors;
  }

  /** Takes all problems of a rule back. */
  drop(name: RuleName): void {
    this.#byRule.delete(name);
  }

  /** Adds those of a later range, whose lines are counted from the last of `lines` lines on. */
  merge(later: PackedProblems, lines: number): void {
    for (const [name, { severity, count, kept }] of later) {
      const own = this.#ofRule(name, severity);
      own.count += count;
      for (const problem of kept) {
        if (!this.#hasRoom(own, problem.file)) continue;
        own.kept.push(movedDown(problem, lines));
        own.lastInput = problem.file;
      }
    }
  }

  /** Those so far, to be added to others. */
  pack(): PackedProblems {
    return this.#byRule;
  }

  /** How often each rule was broken. */
  get counts(): readonly RuleCount[] {
    return [...this.#byRule].map(([rule, { severity, count }]) => ({ rule, severity, count }));
  }

  /** Number of errors, kept or not. */
  get errors(): number {
    return this.counts.reduce((sum, { severity, count }) => sum + (severity === "error" ? count : 0), 0);
  }

  /** The problems kept, in the order of the files named and of their lines. */
  sorted(files: readonly string[]): readonly Problem[] {
    const order = new Map(files.map((name, at) => [name, at]));
    const rank = ({ file }: Problem): number => (file === undefined ? files.length : (order.get(file) ?? files.length));
    return [...this.#byRule.values()]
      .flatMap(({ kept }) => kept)
      .sort(
        (a, b) =>
          rank(a) - rank(b) || byName(a, b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
      );
  }
}

/** Files of a folder are told one after the other. */
const byName = ({ file: a = "" }: Problem, { file: b = "" }: Problem): number => (a === b ? 0 : a < b ? -1 : 1);
