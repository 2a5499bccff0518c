/** `rollcall check`: the same checks and metrics as `log`, offline. */

import type { Command } from "commander";
import type { Context, Start } from "../../context.ts";
import { isFailure, type Problem } from "../../failure.ts";
import { printDocument, printPicture, printReport } from "../../output/index.ts";
import type { CheckResult, Judgement, Reading } from "../../trajectories/index.ts";
import { examples } from "../help.ts";
import { type ReportAsked, reportAsked } from "../log/build-reports.ts";
import { judgementFor, judgingOptions, type TypedJudging } from "../log/judging.ts";
import { sayWarnings, withFrames } from "../log/problems.ts";
import { checkDocument, checkFacts, printFacts } from "../log/report.ts";

/** What `check` was asked for. */
interface CheckOptions {
  readonly files: readonly string[];
  readonly split: string | undefined;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** Files of another split. */
  readonly against: readonly string[];
  readonly report: ReportAsked | undefined;
}

interface TypedCheck extends TypedJudging {
  readonly split?: string;
  readonly groupBy?: string;
  readonly against?: readonly string[];
  readonly report?: string;
}

/** Declares `check`. */
export const declareCheck = (parent: Command, start: Start): void => {
  const command = parent
    .command("check")
    .description("check trajectories, compute metrics, offline")
    .argument("[file...]", "files of groups or trajectories; - or none is standard input")
    .option("--split <name>", "the data split that they belong to, such as train")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .option("--against <file>", "no group may stand in this file of another split", (file, before: string[] = []) => [
      ...before,
      file,
    ])
    .option("--report <form>", "github or junit, for a build system; =file writes a file")
    .action(async (files: string[], typed: TypedCheck, own: Command) => {
      const context = start(own);
      const judgement = await judgementFor(context, typed);
      const report = typed.report === undefined ? undefined : reportAsked(typed.report, context);
      const settings = await context.settings(typed.split === undefined ? {} : { split: typed.split });
      const { groupBy, against = [] } = typed;
      await checkTrajectories(context, { files, split: settings.get("split"), groupBy, judgement, against, report });
    });
  judgingOptions(command);
  examples(command, ["rollcall check groups.jsonl", "rollcall check *.jsonl --split train --json"]);
};

/** Reads and prints. @throws Failure `input-invalid`, once what was found was printed */
const checkTrajectories = async (context: Context, options: CheckOptions): Promise<void> => {
  const { checkResult, reportAgainst } = await context.trajectories();
  const report = async (inputs: readonly string[], problems: readonly Problem[]): Promise<void> => {
    if (options.report !== undefined) await printReport(context.screen, { ...options.report, inputs, problems });
  };
  const reading = await readInputs(context, options).catch(async (thrown: unknown) => {
    if (isFailure(thrown, "input-invalid")) await report(options.files, thrown.about.problems ?? []);
    throw thrown;
  });
  try {
    if (options.against.length > 0) {
      const other = await readInputs(context, { ...options, files: options.against, split: undefined });
      await reportAgainst(reading, other).finally(other.close);
    }
    const result = checkResult(reading);
    const inputs = reading.sources.map(({ name }) => name);
    await sayWarnings(context, reading, result.problems);
    await report(inputs, await reported(context, reading, options));
    // Where there was nothing to check, there is nothing to say of it but that.
    const isShown = options.report === undefined || options.report.file !== undefined;
    if (isShown && reading.found.parts.count > 0) await printResult(context, reading, result);
    if (result.failure !== undefined) throw await withFrames(context, reading, result.failure);
  } finally {
    await reading.close();
  }
};

/** What a report is made of: all problems, but GitHub shows few, and is told the first of each warning. */
const reported = async (
  { trajectories }: Context,
  { problems, sources }: Reading,
  { report }: CheckOptions,
): Promise<readonly Problem[]> => {
  const all = problems.sorted(sources.map(({ name }) => name));
  if (report?.form !== "github") return all;
  const { problemsToShow } = await trajectories();
  const shown = await problemsToShow([], { problems: all, counts: problems.counts, most: mostAnnotations });
  return shown.problems;
};

/** Annotations that a build is told: far more than GitHub shows. */
const mostAnnotations = 1000;

const readInputs = async (
  { screen, host, trajectories }: Context,
  { files, split, groupBy, judgement }: CheckOptions,
): Promise<Reading> => {
  const { readTrajectories } = await trajectories();
  const progress = screen.progress("checking");
  const onProgress = ({ bytes, of }: { bytes: number; of: number }) =>
    progress.update(`checking, ${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`);
  const onOpened = () => undefined;
  const asked = { host, files, split, splitNeeded: false, groupBy, judgement, onOpened, onProgress };
  return await readTrajectories(asked).finally(progress.stop);
};

const printResult = async (context: Context, reading: Reading, result: CheckResult): Promise<void> => {
  const { screen } = context;
  if (screen.format === "json" || screen.format === "jsonl") {
    await printDocument(screen, checkDocument(result));
    return;
  }
  const { drawnOf } = await context.trajectories();
  await printFacts(screen, { facts: checkFacts(result), metrics: result.metrics, next: [] });
  await printPicture(screen, () => drawnOf(reading));
};
