/** Chooses the problems that a person is shown one by one, and folds the rest: a screen stays calm, whatever a file holds. */

import type { RuleCount } from "../../check/rules/problems.ts";
import { subjectOf } from "../../check/rules/rules.ts";
import type { Problem } from "../../failure.ts";
import type { Source } from "../../input/source.ts";
import { withExcerpts } from "./excerpt.ts";

/** Warnings of one rule that are shown, if each says something else; of a rule about wholes, and of errors that say the same, the first speaks for all. */
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
  const byKind = new Map<string, Problem[]>();
  const kept = new Map<string, number>();
  for (const problem of problems) {
    const own = byKind.get(kindOf(problem));
    if (own === undefined) byKind.set(kindOf(problem), [problem]);
    else own.push(problem);
    kept.set(problem.rule, (kept.get(problem.rule) ?? 0) + 1);
  }
  const chosen = chosenOf(byKind, most);
  const totals = new Map(counts.map(({ rule, count }) => [rule, count]));
  const left: RuleCount[] = [];
  const folded = new Map<Problem, Problem["others"]>();
  for (const own of byKind.values()) {
    const [first] = own;
    if (first === undefined) continue;
    const { rule, severity } = first;
    // Those that were only counted are of the kind that is told of first.
    const counted = Math.max(0, (totals.get(rule) ?? 0) - (kept.get(rule) ?? 0));
    totals.delete(rule);
    const shown = own.filter((problem) => chosen.has(problem));
    if (shown.length === 0) left.push({ rule, severity, count: own.length + counted });
    for (const [problem, others] of othersOf(own, shown)) {
      const count = others.length + (problem === shown.at(-1) ? counted : 0);
      if (count > 0) folded.set(problem, { count, places: placesOf(others, problem) });
    }
  }
  const shown = problems
    .filter((problem) => chosen.has(problem))
    .map((problem) => {
      const others = folded.get(problem);
      return others === undefined ? problem : { ...problem, others };
    });
  return { problems: await withExcerpts(sources, shown), left };
};

/** What is told with each that is shown: those that say the same, and with the last those that say what none does. */
const othersOf = (own: readonly Problem[], shown: readonly Problem[]): ReadonlyMap<Problem, readonly Problem[]> => {
  const last = shown.at(-1);
  const bySaid = new Map(shown.map((problem) => [problem.message, problem]));
  const others = new Map(shown.map((problem): [Problem, Problem[]] => [problem, []]));
  for (const problem of own) {
    const speaker = bySaid.get(problem.message) ?? last;
    if (speaker !== undefined && speaker !== problem) others.get(speaker)?.push(problem);
  }
  return others;
};

/** What is folded: warnings of a rule, and errors that say the same; of a service's, about the same field. */
const kindOf = ({ severity, rule, message, from, path = [] }: Problem): string => {
  if (severity !== "error") return rule;
  const field = from === "service" ? path.map((step) => (typeof step === "number" ? "#" : step)) : [];
  return [rule, message, ...field].join(" ");
};

/** The first of each kind, then the next of each that says something else, until there are enough. */
const chosenOf = (byKind: ReadonlyMap<string, readonly Problem[]>, most: number): ReadonlySet<Problem> => {
  const chosen = new Set<Problem>();
  const speakers = Array.from(byKind.values(), speakersOf);
  for (let round = 0; round < mostOfWarning; round++) {
    for (const own of speakers) {
      const problem = own[round];
      if (problem !== undefined && chosen.size < most) chosen.add(problem);
    }
  }
  return chosen;
};

/** The first that says each of what problems of a kind say, as many as may be shown. */
const speakersOf = (own: readonly Problem[]): readonly Problem[] => {
  const bySaid = new Map<string, Problem>();
  for (const problem of own) {
    if (bySaid.size >= mostOf(problem)) break;
    if (!bySaid.has(problem.message)) bySaid.set(problem.message, problem);
  }
  return [...bySaid.values()];
};

const mostOf = ({ severity, rule }: Problem): number =>
  severity === "error" || subjectOf(rule) === "whole" ? 1 : mostOfWarning;

/** Where problems stand: file and line, and the column where several stand on the same line, one that is shown included. */
const placesOf = (problems: readonly Problem[], shown: Problem): readonly string[] => {
  const named = problems.slice(0, mostPlaces);
  const lineOf = ({ file, line }: Problem): string => `${file ?? "(input)"}:${line}`;
  const isShared = new Set([shown, ...named].map(lineOf)).size <= named.length;
  return named.flatMap((problem) => {
    if (problem.line === undefined) return problem.file ?? [];
    return isShared && problem.column !== undefined ? `${lineOf(problem)}:${problem.column}` : lineOf(problem);
  });
};
