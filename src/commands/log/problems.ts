/** How `log` and `check` show problems: frames on a terminal, lines in a pipe, and never more than a person reads. */
import type { Context } from "../../context.ts";
import { Failure, type Problem } from "../../failure.ts";
import type { Reading, subjectOf } from "../../trajectories/index.ts";

/** Problems that are shown one by one (promises.md, "Output"). */
const mostProblems = 20;

/** Warnings of one rule that are said one by one in a pipe. */
const mostWarnings = 3;

/** What is read of a reading to show its problems. */
type Read = Pick<Reading, "sources" | "problems">;

/** Says the warnings among problems: the first of each rule, and how many more there are. */
export const sayWarnings = async (context: Context, reading: Read, problems: readonly Problem[]): Promise<void> => {
  const { screen } = context;
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const { problemsToShow, subjectOf } = await context.trajectories();
  if (!screen.frames) {
    sayLines(context, { warnings, counts: reading.problems.counts, subjectOf });
    return;
  }
  const { counts, errors } = reading.problems;
  const most = Math.max(0, mostProblems - errors);
  const { problems: shown, left } = await problemsToShow(reading.sources, { problems: warnings, counts, most });
  for (const warning of shown) screen.warn(warning);
  if (left.length > 0) {
    const rules = left.map(({ rule, count }) => `${count} ${rule}`).join(", ");
    screen.notice(`more warnings: ${rules}: \`rollcall check --json\` lists them`);
  }
};

/** What is said in lines: warnings, and how often each rule was broken, kept or not. */
interface Said {
  readonly warnings: readonly Problem[];
  readonly counts: Reading["problems"]["counts"];
  readonly subjectOf: typeof subjectOf;
}

const sayLines = ({ screen }: Context, { warnings, counts, subjectOf }: Said): void => {
  // Of a rule about groups or trajectories as wholes, the first speaks for all.
  const mostOf = (rule: string): number => (subjectOf(rule) === "whole" ? 1 : mostWarnings);
  const said = new Map<string, number>();
  for (const warning of warnings) {
    const count = said.get(warning.rule) ?? 0;
    said.set(warning.rule, count + 1);
    if (count < mostOf(warning.rule)) screen.warn(warning);
  }
  for (const [rule, count] of said) {
    const all = counts.find((one) => one.rule === rule)?.count ?? 0;
    const left = Math.max(count, all) - mostOf(rule);
    if (left > 0) screen.notice(`${left} more of ${rule}: \`rollcall check --json\` lists them`);
  }
};

/** What a run ends with, its problems as they are drawn where a person sees them. */
export const withFrames = async (
  { screen, trajectories }: Context,
  reading: Read,
  thrown: unknown,
): Promise<unknown> => {
  if (!screen.frames || !(thrown instanceof Failure)) return thrown;
  const { problems = [] } = thrown.about;
  if (problems.length === 0) return thrown;
  const { problemsToShow } = await trajectories();
  const { problems: shown } = await problemsToShow(reading.sources, { problems, counts: [], most: mostProblems });
  return thrown.also({ problems: shown });
};
