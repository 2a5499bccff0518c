/** Chooses the problems that a person sees one by one, and folds the rest: the screen stays short for any file. */

import { type RuleCount, subjectOf } from "../../check/index.ts";
import type { Problem } from "../../failure.ts";
import type { Source } from "../../input/index.ts";
import { withExcerpts } from "./excerpt.ts";

/** Warnings of one rule that are shown if their messages differ; of rules about wholes, and of equal errors, one is. */
const maxOfWarning = 3;

/** Positions that are named of problems that are not shown. */
const maxPositions = 6;

/** The problems that are shown, and how often rules were broken whose problems are not. */
export interface Shown {
  readonly problems: readonly Problem[];
  readonly left: readonly RuleCount[];
}

/** Chooses from problems, which are in their order. `counts` has also problems that were not kept. */
export const problemsToShow = async (
  sources: readonly Source[],
  {
    problems,
    counts,
    most,
  }: { readonly problems: readonly Problem[]; readonly counts: readonly RuleCount[]; readonly most: number },
): Promise<Shown> => {
  const kinds = new Map<string, Problem[]>();
  /** Problems of each rule that were counted and not kept: they belong to the rule's first kind. */
  const counted = new Map(counts.map(({ rule, count }) => [rule, count]));
  for (const problem of problems) {
    const kind = kindOf(problem);
    kinds.set(kind, kinds.get(kind) ?? []);
    kinds.get(kind)?.push(problem);
    counted.set(problem.rule, (counted.get(problem.rule) ?? 0) - 1);
  }
  const chosen = choose(kinds, most);
  const left: RuleCount[] = [];
  const others = new Map<Problem, Pick<Problem, "others">>();
  for (const own of kinds.values()) {
    const [first] = own;
    if (first === undefined) continue;
    const { rule, severity } = first;
    const more = Math.max(0, counted.get(rule) ?? 0);
    counted.delete(rule);
    const shown = own.filter((problem) => chosen.has(problem));
    if (shown.length === 0) left.push({ rule, severity, count: own.length + more });
    for (const problem of shown) {
      const isLast = problem === shown.at(-1);
      // Each stands for the problems with its message, the last also for those with a message that is not shown.
      const folded = own.filter((other) => {
        const speaker = shown.findLast(({ message }) => message === other.message);
        return other !== problem && (speaker === undefined ? isLast : speaker === problem);
      });
      const count = folded.length + (isLast ? more : 0);
      if (count > 0) others.set(problem, { others: { count, places: positionsOf(folded, problem) } });
    }
  }
  const shown = problems
    .filter((problem) => chosen.has(problem))
    .map((problem) => ({ ...problem, ...others.get(problem) }));
  return { problems: await withExcerpts(sources, shown), left };
};

/** What is folded: warnings of a rule, and equal errors; of a service's, those about the same field. */
const kindOf = ({ severity, rule, message, from, path = [] }: Problem): string => {
  if (severity !== "error") return rule;
  const field = from === "service" ? path.map((step) => (typeof step === "number" ? "#" : step)) : [];
  return [rule, message, ...field].join(" ");
};

/** Chooses the first problem of each kind, then the next of each with another message, until there are enough. */
const choose = (kinds: ReadonlyMap<string, readonly Problem[]>, most: number): ReadonlySet<Problem> => {
  const speakers = Array.from(kinds.values(), firstOfEachMessage);
  const rounds = Array.from({ length: maxOfWarning }, (_, round) => speakers.flatMap((own) => own[round] ?? []));
  return new Set(rounds.flat().slice(0, most));
};

/** The first problem with each message, as many as may be shown of their kind. */
const firstOfEachMessage = (own: readonly Problem[]): readonly Problem[] => {
  const byMessage = new Map<string, Problem>();
  for (const problem of own) {
    const isOne = problem.severity === "error" || subjectOf(problem.rule) === "whole";
    if (byMessage.size >= (isOne ? 1 : maxOfWarning)) break;
    if (!byMessage.has(problem.message)) byMessage.set(problem.message, problem);
  }
  return [...byMessage.values()];
};

/** Positions of problems: file and line, and the column if several, including the shown one, are on one line. */
const positionsOf = (problems: readonly Problem[], shown: Problem): readonly string[] => {
  const named = problems.slice(0, maxPositions);
  const lineOf = ({ file, line }: Problem): string => `${file ?? "(input)"}:${line}`;
  const isShared = new Set([shown, ...named].map(lineOf)).size <= named.length;
  return named.flatMap((problem) => {
    if (problem.line === undefined) return problem.file ?? [];
    return isShared && problem.column !== undefined ? `${lineOf(problem)}:${problem.column}` : lineOf(problem);
  });
};
