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

/** Problems as they go from one thread to another. */
export interface PackedProblems {
  readonly kept: ReadonlyMap<string, readonly Problem[]>;
  readonly counts: ReadonlyMap<string, Omit<RuleCount, "rule">>;
}

/** What has a line, that many lines further down. */
export const movedDown = <Located extends { readonly line?: number }>(located: Located, lines: number): Located =>
  located.line === undefined || lines === 0 ? located : { ...located, line: located.line + lines };

/** Problems being collected. */
export class Problems {
  readonly #judgement: Judgement;
  readonly #kept = new Map<string, Problem[]>();
  readonly #counts = new Map<string, { severity: Problem["severity"]; count: number }>();

  readonly #ofInput = new Set<string>();

  /** The input that is looked at, and the last one of which a problem of a rule was kept. */
  #input: string | undefined;
  readonly #lastKept = new Map<string, string | undefined>();

  /** Rules of which enough were kept before these. */
  readonly #enough: ReadonlySet<string>;

  constructor(judgement: Judgement = lenient, enough: ReadonlySet<string> = new Set()) {
    this.#judgement = judgement;
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
    if (this.#judgement.allowed.has(name)) return undefined;
    const severity = this.count(name, 1);
    if (!this.isKept(name)) return severity;
    this.#keep(name, { ...problemOf(name, data(), spot()), severity }, this.#input);
    return severity;
  }

  #keep(name: string, problem: Problem, input: string | undefined): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) this.#kept.set(name, [problem]);
    else kept.push(problem);
    this.#lastKept.set(name, input);
  }

  /** Counts problems of a rule; gives how serious the run takes them. */
  count(name: RuleName, times: number): Severity {
    const known = this.#counts.get(name);
    const severity = known?.severity ?? this.#severityOf(name);
    if (known !== undefined) known.count += times;
    else this.#counts.set(name, { severity, count: times });
    return severity;
  }

  #severityOf(name: RuleName): Severity {
    return this.#judgement.strict ? "error" : ruleOf(name).severity;
  }

  /** Rules of which no other problem would be kept. */
  get enough(): ReadonlySet<string> {
    return new Set([...this.#enough, ...[...this.#counts.keys()].filter((name) => !this.isKept(name))]);
  }

  /** What is made of warnings. */
  get judgement(): Judgement {
    return this.#judgement;
  }

  /** Whether another problem of a rule would be kept. */
  isKept(name: string): boolean {
    return !this.#judgement.allowed.has(name) && !this.#enough.has(name) && this.#hasRoom(name, this.#input);
  }

  #hasRoom(name: string, input: string | undefined): boolean {
    const most =
      this.#judgement.setsAside === true && this.#counts.get(name)?.severity === "error" ? maxKeptAside : maxKept;
    return (this.#kept.get(name)?.length ?? 0) < most || this.#lastKept.get(name) !== input;
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
    for (const problems of this.#kept.values()) {
      for (const [at, problem] of problems.entries()) {
        const spot = await placeOf(problem);
        if (spot === undefined) continue;
        const { file: _file, line: _line, column: _column, path: _path, offset: _offset, ...said } = problem;
        problems[at] = { ...said, ...spot };
      }
    }
  }

  /** The errors among them, with what more is known of each. */
  errorsWith(more: (problem: Problem) => Spot): Problems {
    const errors = new Problems(this.#judgement);
    for (const [name, { severity, count }] of this.#counts) {
      if (severity !== "error") continue;
      errors.#counts.set(name, { severity, count });
      errors.#kept.set(
        name,
        (this.#kept.get(name) ?? []).map((problem) => ({ ...problem, ...more(problem) })),
      );
    }
    return errors;
  }

  /** Takes all problems of a rule back. */
  drop(name: RuleName): void {
    this.#kept.delete(name);
    this.#counts.delete(name);
  }

  /** Adds those of a later range, whose lines are counted from the last of `lines` lines on. */
  merge(later: PackedProblems, lines: number): void {
    for (const [name, { severity, count }] of later.counts) {
      const known = this.#counts.get(name);
      if (known === undefined) this.#counts.set(name, { severity, count });
      else known.count += count;
    }
    for (const [name, problems] of later.kept) {
      for (const problem of problems) {
        if (this.#hasRoom(name, problem.file)) this.#keep(name, movedDown(problem, lines), problem.file);
      }
    }
  }

  /** Those so far, to be added to others. */
  pack(): PackedProblems {
    return { kept: this.#kept, counts: this.#counts };
  }

  /** How often each rule was broken. */
  get counts(): readonly RuleCount[] {
    return [...this.#counts].map(([rule, { severity, count }]) => ({ rule, severity, count }));
  }

  /** Number of errors, kept or not. */
  get errors(): number {
    return this.counts.reduce((sum, { severity, count }) => sum + (severity === "error" ? count : 0), 0);
  }

  /** The problems kept, in the order of the files named and of their lines. */
  sorted(files: readonly string[]): readonly Problem[] {
    const order = new Map(files.map((name, at) => [name, at]));
    const rank = ({ file }: Problem): number => (file === undefined ? files.length : (order.get(file) ?? files.length));
    return [...this.#kept.values()]
      .flat()
      .sort(
        (a, b) =>
          rank(a) - rank(b) || byName(a, b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
      );
  }
}

/** Files of a folder are told one after the other. */
const byName = ({ file: a = "" }: Problem, { file: b = "" }: Problem): number => (a === b ? 0 : a < b ? -1 : 1);
