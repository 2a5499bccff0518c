/** Problems being collected: all of them counted, a bounded number of each rule kept. */
import type { Problem } from "../failure.ts";
import { type Rule, type RuleData, type RuleName, rules } from "./rules.ts";

/** Problems kept of one rule: a file can have one on every line, and memory holds the index, not the file. */
const keptOfRule = 1000;

/** Where a problem is: whatever of it is known. */
export type Spot = Pick<Problem, "file" | "line" | "column" | "path">;

/** How often a rule was broken. */
export interface RuleCount {
  readonly rule: string;
  readonly severity: Problem["severity"];
  readonly count: number;
}

/** A problem as data: the rule's words about it, and where it is. */
export const problemOf = <Name extends RuleName>(name: Name, data: RuleData<Name>, spot: Spot = {}): Problem => {
  const { severity, message, advice } = ruleOf(name);
  const advised = advice(data);
  return {
    ...spot,
    rule: name,
    severity,
    message: message(data),
    ...(advised === undefined ? {} : { advice: advised }),
  };
};

const table: { readonly [Name in RuleName]: Rule<RuleData<Name>> } = rules;

const ruleOf = <Name extends RuleName>(name: Name): Rule<RuleData<Name>> => table[name];

/** Problems being collected. */
export class Problems {
  readonly #kept = new Map<string, Problem[]>();
  readonly #counts = new Map<string, { severity: Problem["severity"]; count: number }>();

  /** Adds a problem; where it is is only asked for where it is kept. */
  report<Name extends RuleName>(name: Name, data: RuleData<Name>, spot: () => Spot): void {
    const known = this.#counts.get(name);
    if (known !== undefined) known.count++;
    else this.#counts.set(name, { severity: ruleOf(name).severity, count: 1 });
    const kept = this.#kept.get(name);
    if (kept === undefined) this.#kept.set(name, [problemOf(name, data, spot())]);
    else if (kept.length < keptOfRule) kept.push(problemOf(name, data, spot()));
  }

  /** Whether another problem of a rule would be kept. */
  isKept(name: RuleName): boolean {
    return (this.#kept.get(name)?.length ?? 0) < keptOfRule;
  }

  /** Adds those of a later range. */
  merge(other: Problems): void {
    for (const [name, { severity, count }] of other.#counts) {
      const known = this.#counts.get(name);
      if (known === undefined) this.#counts.set(name, { severity, count });
      else known.count += count;
    }
    for (const [name, problems] of other.#kept) {
      this.#kept.set(name, [...(this.#kept.get(name) ?? []), ...problems].slice(0, keptOfRule));
    }
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
      .sort((a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  }
}
