/** What `log` and `check` both say of what they read: its problems, never more than a person reads, and its facts. */
import type { Context } from "../../context.ts";
import { Failure, type Problem } from "../../failure.ts";
import { type Column, printList, printPage, type Screen, type Section } from "../../output/index.ts";
import { problemsToShow, type Reading, subjectOf } from "../../trajectories/index.ts";

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
  const { counts, errors } = reading.problems;
  if (!screen.frames) return sayLines(context, warnings, counts);
  const most = Math.max(0, mostProblems - errors);
  const { problems: shown, left } = await problemsToShow(reading.sources, { problems: warnings, counts, most });
  for (const warning of shown) screen.warn(warning);
  if (left.length > 0) {
    const rules = left.map(({ rule, count }) => `${count} ${rule}`).join(", ");
    screen.notice(`more warnings: ${rules}: \`rollcall check --json\` lists them`);
  }
};

/** Says warnings in lines; `counts` are of all problems, kept or not. */
const sayLines = ({ screen }: Context, warnings: readonly Problem[], counts: Reading["problems"]["counts"]): void => {
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
export const withFrames = async ({ screen }: Context, reading: Read, thrown: unknown): Promise<unknown> => {
  if (!screen.frames || !(thrown instanceof Failure)) return thrown;
  const { problems = [] } = thrown.about;
  if (problems.length === 0) return thrown;
  const { problems: shown } = await problemsToShow(reading.sources, { problems, counts: [], most: mostProblems });
  return thrown.also({ problems: shown });
};

/** One line of a result. */
export interface Fact {
  readonly name: string;
  readonly value: string | number;
}

/** Prints a result for a person, or as records. */
export const printFacts = async (
  screen: Screen,
  {
    facts,
    metrics,
    next = [],
  }: {
    readonly facts: readonly Fact[];
    readonly metrics: Readonly<Record<string, number>>;
    readonly next?: readonly Fact[];
  },
): Promise<void> => {
  const measured = Object.entries(metrics).map(([name, value]) => ({ name, value }));
  if (screen.format !== "table") {
    await printList(screen, { columns, rows: [...facts, ...measured, ...next] });
    return;
  }
  await printPage(screen, { sections: [section(facts), section(measured, "Metrics"), section(next)] });
};

const columns: readonly Column<Fact>[] = [
  { name: "name", heading: "name", rank: 0, cell: ({ name }) => name, value: ({ name }) => name },
  { name: "value", heading: "value", rank: 0, cell: ({ value }) => String(value), value: ({ value }) => value },
];

const section = (facts: readonly Fact[], title?: string): Section =>
  facts.length === 0
    ? {}
    : {
        ...(title === undefined ? {} : { title }),
        lines: facts.map(({ name, value }) => ({ label: name, text: String(value) })),
      };
