/** Chooses the problems that a person is shown one by one, and folds the rest: a screen stays calm, whatever a file holds. */
import type { Problem } from "../../failure.ts";
import type { Source } from "../input/source.ts";
import type { RuleCount } from "../rules/problems.ts";
import { subjectOf } from "../rules/rules.ts";
import { withExcerpts } from "./excerpt.ts";

/** Warnings of one rule that are shown; of a rule about wholes, the first speaks for all. */
const mostOfWarning = 3;

/** Places that are named of those that are not shown. */
const mostPlaces = 6;

/** What is shown of problems, and how often each rule was broken beside. */
export interface Shown {
  readonly problems: readonly Problem[];
  readonly left: readonly RuleCount[];
}

/** What to show of problems, which are in their order; `counts` has also those that are not among them. */
export const problemsToShow = async (
  sources: readonly Source[],
  {
    problems,
    counts,
    most,
  }: { readonly problems: readonly Problem[]; readonly counts: readonly RuleCount[]; readonly most: number },
): Promise<Shown> => {
  const byRule = new Map<string, Problem[]>();
  for (const problem of problems) {
    const own = byRule.get(problem.rule);
    if (own === undefined) byRule.set(problem.rule, [problem]);
    else own.push(problem);
  }
  const chosen = chosenOf(byRule, most);
  const totals = new Map(counts.map(({ rule, count }) => [rule, count]));
  const left: RuleCount[] = [];
  const last = new Map<Problem, Problem["others"]>();
  for (const [rule, own] of byRule) {
    const shown = own.filter((problem) => chosen.has(problem));
    const count = Math.max(totals.get(rule) ?? 0, own.length) - shown.length;
    const [first] = own;
    const end = shown.at(-1);
    if (count === 0 || first === undefined) continue;
    if (end === undefined || first.severity === "error") left.push({ rule, severity: first.severity, count });
    else last.set(end, { count, places: placesOf(own.filter((problem) => !chosen.has(problem))) });
  }
  const shown = problems
    .filter((problem) => chosen.has(problem))
    .map((problem) => {
      const others = last.get(problem);
      return others === undefined ? problem : { ...problem, others };
    });
  return { problems: await withExcerpts(sources, shown), left };
};

/** The first of each rule, then the second of each, until there are enough. */
const chosenOf = (byRule: ReadonlyMap<string, readonly Problem[]>, most: number): ReadonlySet<Problem> => {
  const chosen = new Set<Problem>();
  const longest = Math.max(0, ...Array.from(byRule.values(), (own) => own.length));
  for (let round = 0; round < longest && chosen.size < most; round++) {
    for (const own of byRule.values()) {
      const problem = own[round];
      if (problem !== undefined && chosen.size < most && round < mostOf(problem)) chosen.add(problem);
    }
  }
  return chosen;
};

const mostOf = ({ severity, rule }: Problem): number =>
  severity === "error" ? Number.POSITIVE_INFINITY : subjectOf(rule) === "whole" ? 1 : mostOfWarning;

const placesOf = (problems: readonly Problem[]): readonly string[] =>
  problems
    .slice(0, mostPlaces)
    .flatMap(({ file, line }) => (line === undefined ? (file ?? []) : `${file ?? "(input)"}:${line}`));
