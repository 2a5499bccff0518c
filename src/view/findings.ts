/** Problems by what they are about: so that a group's row counts its own, and a message has them beside it. */
import type { Problem } from "../failure.ts";
import { aboutOf, type Reading } from "../groups/index.ts";
import type { Finding, Findings } from "./shapes.ts";

/** The problems of a reading, each with the group that it is about. */
export class FindingsByGroup {
  readonly #all: readonly Finding[];
  readonly #byGroup = new Map<number, Finding[]>();
  readonly #others: number;

  constructor(reading: Reading) {
    const { problems, sources } = reading;
    this.#all = problems.sorted(sources.map(({ name }) => name)).map((problem) => findingOf(reading, problem));
    this.#others = problems.counts.reduce((sum, { count }) => sum + count, 0) - this.#all.length;
    for (const finding of this.#all) {
      if (finding.group === null) continue;
      const known = this.#byGroup.get(finding.group);
      if (known === undefined) this.#byGroup.set(finding.group, [finding]);
      else known.push(finding);
    }
  }

  of(group: number): readonly Finding[] {
    return this.#byGroup.get(group) ?? [];
  }

  /** Whether a group has problems of a rule, or any. */
  has(group: number, rule: string): boolean {
    return this.of(group).some((finding) => rule === "any" || finding.rule === rule);
  }

  /** The first of them, of a rule where one is asked for. */
  listed(rule: string | undefined, most: number): Findings {
    const wanted = rule === undefined ? this.#all : this.#all.filter((finding) => finding.rule === rule);
    return { findings: wanted.slice(0, most), others: Math.max(0, wanted.length - most) + this.#others };
  }
}

const findingOf = (reading: Reading, problem: Problem): Finding => {
  const { rule, severity, message, advice = "", file, line } = problem;
  const about = aboutOf(reading, problem);
  return {
    rule,
    severity,
    message,
    advice,
    place: file === undefined ? null : { file, line: line ?? 1 },
    group: about?.group ?? null,
    trajectory: about?.trajectory ?? null,
    message_at: about?.message ?? null,
  };
};
