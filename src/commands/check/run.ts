/** The run of `rollcall check`: the same checks and metrics as `log`, offline. */
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure, type Problem, problemFacts } from "../../failure.ts";
import { drawnOf, type Reading, reportAgainst } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument, printPicture, printReport, type ReportForm } from "../../output/index.ts";
import { type CheckResult, checkResult } from "../../send/index.ts";
import {
  printFacts,
  sayGrouping,
  sayWarnings,
  unreadableFact,
  unreadableText,
  withFrames,
} from "../inputs/findings.ts";
import { fetchedText, percentText, readInputs, sayConversion } from "../inputs/read.ts";
import { reportsAsked } from "../inputs/reports.ts";
import { problemsToShow } from "../inputs/shown-problems.ts";
import type { TypedCheck } from "./command.ts";

/** Reads and prints. @throws Failure `input-invalid`, once what was found was printed */
export const check = async (context: Context, typed: TypedCheck): Promise<void> => {
  const { screen } = context;
  const { file: files, groupBy, against } = typed;
  const reports = reportsAsked(typed.report, { screen, inputs: files });
  const settings = await settingsInForce(context, { split: typed.split });
  const read = async (
    of: readonly string[],
    options: { readonly split: string | undefined; readonly goesOn: boolean },
  ) => {
    const progress = screen.progress("checking");
    const asked = { ...options, settings, typed, groupBy, files: of, isOnlyLookedAt: against.length === 0 };
    return await readInputs(context, {
      ...asked,
      onProgress: (done) => progress.update(percentText("checking", done)),
      onFetched: (fetched) => progress.update(fetchedText(fetched)),
    })
      .finally(progress.stop)
      .catch(reportEnd);
  };
  const report = async (
    sources: Reading["sources"],
    problemsOf: (form: ReportForm) => Promise<readonly Problem[]>,
  ): Promise<void> => {
    for (const asked of reports) {
      const problems = await problemsOf(asked.form);
      // An input that could not be read has problems, and is no source.
      const others = [...new Set(problems.flatMap(({ file }) => file ?? []))];
      const inputs = [...sources.map(({ name }) => name), ...others];
      const mode = modeOf([...sources, ...others.map((name) => ({ name }))]);
      await printReport(screen, { ...asked, inputs, problems, mode });
    }
  };
  /** If an input cannot be read to its end, only that is reported: no other input is known to be valid then. */
  const reportEnd = async (thrown: unknown): Promise<never> => {
    if (thrown instanceof Failure && thrown.code === "invalid_input") {
      await report([], async () => thrown.about.problems ?? []);
    }
    throw thrown;
  };
  const reading = await read(files, { split: settings.get("split"), goesOn: true });
  try {
    sayConversion(context, reading);
    sayGrouping(context, reading, groupBy);
    if (against.length > 0) {
      const other = await read(against, { split: undefined, goesOn: false });
      await reportAgainst(reading, other).finally(other.close);
    }
    const result = checkResult(reading);
    await sayWarnings(context, reading, result.problems);
    await report(reading.sources, async (form) => await problemsFor(reading, form));
    const isShown = reports.every(({ file }) => file !== undefined);
    // Nothing is printed about an input with nothing in it but that.
    if (isShown && reading.found.parts.count > 0) await printResult(context, reading, result);
    if (result.failure !== undefined) throw await withFrames(context, reading, result.failure);
  } finally {
    await reading.close();
  }
};

/** Annotations that a build is given at most: GitHub shows far fewer. */
const maxAnnotations = 1000;

/** The problems of a report: all, but GitHub gets only the first warnings of each rule. */
const problemsFor = async ({ problems, sources }: Reading, form: ReportForm): Promise<readonly Problem[]> => {
  const all = problems.sorted(sources.map(({ name }) => name));
  if (form !== "github") return all;
  const warnings = all.filter(({ severity }) => severity === "warning");
  const shown = await problemsToShow([], { problems: warnings, counts: problems.counts, most: maxAnnotations });
  return [...all.filter(({ severity }) => severity === "error"), ...shown.problems];
};

const printResult = async ({ screen }: Context, reading: Reading, result: CheckResult): Promise<void> => {
  if (screen.isForProgram) return await printDocument(screen, checkDocument(result));
  const { status, split, groups, trajectories, unreadable, metrics } = result;
  const facts = [
    { name: "status", value: status },
    ...(split === undefined ? [] : [{ name: "split", value: split }]),
    { name: "groups", value: `${rejectedText(groups)}${unreadableText(unreadable)}` },
    { name: "trajectories", value: rejectedText(trajectories) },
  ];
  await printFacts(screen, { facts, metrics });
  await printPicture(screen, () => drawnOf(reading));
};

const rejectedText = ({ read, rejected }: { readonly read: number; readonly rejected: number }): string =>
  rejected === 0 ? String(read) : `${read}, ${rejected} of them not valid`;

const checkDocument = (result: CheckResult) => ({
  status: result.status,
  split: result.split ?? null,
  groups: result.groups,
  trajectories: result.trajectories,
  metrics: result.metrics,
  problems: result.problems.map(problemFacts),
  ...unreadableFact(result.unreadable),
  not_chosen: result.leftOut,
  ...(result.problemsLeftOut === 0 ? {} : { problems_left_out: result.problemsLeftOut }),
  warnings: result.problems.filter(({ severity }) => severity === "warning").map(problemFacts),
});

/** The document of `check --json`. */
export type CheckDocument = ReturnType<typeof checkDocument>;
