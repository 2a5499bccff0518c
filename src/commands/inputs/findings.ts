/** What `log` and `check` both say of what they read: its problems, never more than a person reads, and its facts. */

import type { RuleCount } from "../../check/index.ts";
import type { Context } from "../../context.ts";
import { Failure, type Problem } from "../../failure.ts";
import type { Reading } from "../../groups/index.ts";
import { type Column, printList, printPage, type Screen, type Section, textColumn } from "../../output/index.ts";
import { problemsToShow } from "./shown-problems.ts";

/** Problems that are shown one by one (promises.md, "Output"). */
const mostProblems = 20;

/** What is read of a reading to show its problems. */
type Read = Pick<Reading, "sources" | "problems">;

/** Says the warnings among problems: the first of each rule, and how many more there are. */
export const sayWarnings = async (context: Context, reading: Read, problems: readonly Problem[]): Promise<void> => {
  const { screen } = context;
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const { counts, errors } = reading.problems;
  const most = Math.max(0, mostProblems - errors);
  const { problems: shown, left } = await problemsToShow(drawnFrom(context, reading), {
    problems: warnings,
    counts,
    most,
  });
  for (const warning of shown) screen.warn(warning);
  if (left.length > 0) {
    const rules = left.map(({ rule, count }) => `${count} ${rule}`).join(", ");
    screen.notice(`more warnings: ${rules}: \`rollcall check --json\` lists them`);
  }
};

/** Says if `--group-by` has no effect: it groups only trajectories that are in no group. */
export const sayGrouping = (
  { screen }: Context,
  { found: { shapes } }: Pick<Reading, "found">,
  groupBy: string | undefined,
): void => {
  if (groupBy === undefined || shapes.size === 0 || shapes.has("trajectories")) return;
  screen.notice(`--group-by ${groupBy} has no effect: all that was read stands in groups already`);
};

/** What is read again to show lines of it: only a terminal has frames. */
const drawnFrom = ({ screen }: Context, { sources }: Pick<Reading, "sources">): Reading["sources"] =>
  screen.frames ? sources : [];

/** What a run ends with, its problems as a person is shown them; `counts` has also those that were not kept. */
export const withFrames = async (
  context: Context,
  reading: Pick<Reading, "sources">,
  thrown: unknown,
  counts: readonly RuleCount[] = [],
): Promise<unknown> => {
  if (context.screen.isForProgram || !(thrown instanceof Failure)) return thrown;
  const { problems = [] } = thrown.about;
  if (problems.length === 0) return thrown;
  const asked = { problems, counts, most: mostProblems };
  const { problems: shown } = await problemsToShow(drawnFrom(context, reading), asked);
  return thrown.also({ problems: shown });
};

/** One line of a result. */
export interface Fact {
  readonly name: string;
  readonly value: string | number;
}

/** Which of the groups that can't be sent are none: a line that can't be read stands for one in every count. */
export const unreadableText = (lines: number): string => {
  if (lines === 0) return "";
  return lines === 1 ? " (1 is a line that can't be read)" : ` (${lines} are lines that can't be read)`;
};

/** What a document says of them, where there are any. */
export const unreadableFact = (lines: number): { readonly unreadable_lines?: number } =>
  lines === 0 ? {} : { unreadable_lines: lines };

/** Prints a result for a person, or as records. */
export const printFacts = async (
  screen: Screen,
  {
    facts,
    metrics,
    measured,
    next = [],
  }: {
    readonly facts: readonly Fact[];
    readonly metrics: Readonly<Record<string, number>>;
    /** What the metrics are of, where that has to be said. */
    readonly measured?: string | undefined;
    readonly next?: readonly Fact[];
  },
): Promise<void> => {
  const figures = Object.entries(metrics).map(([name, value]) => ({ name, value }));
  if (screen.format !== "table") {
    const about = measured === undefined ? [] : [{ name: "metrics of", value: measured }];
    await printList(screen, { columns, rows: [...facts, ...about, ...figures, ...next] });
    return;
  }
  const title = measured === undefined ? "Metrics" : `Metrics of ${measured}`;
  await printPage(screen, { sections: [section(facts), section(figures, title), section(next)] });
};

const columns: readonly Column<Fact>[] = [
  textColumn("name", { rank: 0, text: ({ name }) => name }),
  textColumn("value", { rank: 0, text: ({ value }) => String(value), value: ({ value }) => value }),
];

const section = (facts: readonly Fact[], title?: string): Section =>
  facts.length === 0
    ? {}
    : {
        ...(title === undefined ? {} : { title }),
        lines: facts.map(({ name, value }) => ({ label: name, text: String(value) })),
      };
