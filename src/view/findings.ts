/** Problems by what they are about: a group's row counts its own, and a message has them next to it. */
import type { Problem } from "../failure.ts";
import { aboutOf, type Reading } from "../groups/index.ts";
import type { Finding, Findings } from "./answers.ts";

/** The problems of a reading. */
export const findingsOf = (reading: Reading) => {
  const { problems, sources } = reading;
  const all = problems.sorted(sources.map(({ name }) => name)).map((problem) => findingOf(reading, problem));
  const unlisted = problems.counts.reduce((sum, { count }) => sum + count, 0) - all.length;
  const byGroup = new Map<number, Finding[]>();
  for (const finding of all) {
    if (finding.group === null) continue;
    const own = byGroup.get(finding.group) ?? [];
    own.push(finding);
    byGroup.set(finding.group, own);
  }
  return {
    of: (group: number): readonly Finding[] => byGroup.get(group) ?? [],
    /** The first problems, of a rule or of all. */
    list: (rule: string | undefined, max: number): Findings => {
      const wanted = rule === undefined ? all : all.filter((finding) => finding.rule === rule);
      return { findings: wanted.slice(0, max), others: Math.max(0, wanted.length - max) + unlisted };
    },
  };
};

const findingOf = (reading: Reading, problem: Problem): Finding => {
  const { rule, severity, message, advice = "", file, line = 1 } = problem;
  const about = aboutOf(reading, problem);
  return {
    rule,
    severity,
    message,
    advice,
    place: file === undefined ? null : { file, line },
    group: about?.group ?? null,
    trajectory: about?.trajectory ?? null,
    message_at: about?.message ?? null,
  };
};
