/** What `rollcall check` does: the same checks and metrics as `log`, offline. */

import type { Judgement } from "../../check/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure, type Problem, problemFacts } from "../../failure.ts";
import type { ForeignChoice } from "../../formats/index.ts";
import { type Choosing, drawnOf, type Reading, reportAgainst } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument, printPicture, printReport, type ReportForm } from "../../output/index.ts";
import { type CheckResult, checkResult, problemsToShow } from "../../send/index.ts";
import type { Settings } from "../../settings/index.ts";
import { choosingTyped, type TypedChoosing } from "../convert/choosing.ts";
import { fetchedText, foreignTyped, type TypedForeign, tellConversion } from "../convert/foreign.ts";
import { readInputs } from "../convert/inputs.ts";
import { type ReportAsked, reportsAsked } from "../log/build-reports.ts";
import {
  type Fact,
  printFacts,
  sayWarnings,
  tellGrouping,
  unreadableFact,
  unreadableText,
  withFrames,
} from "../log/findings.ts";
import type { TypedJudging } from "../log/judging.ts";
import { judgementTyped } from "../log/options.ts";

/** The options as commander gives them. */
export interface TypedCheck extends TypedJudging, TypedForeign, TypedChoosing {
  readonly split?: string;
  readonly groupBy?: string;
  readonly against?: readonly string[];
  readonly report?: readonly string[];
}

/** What `check` was asked for. */
interface CheckOptions {
  readonly files: readonly string[];
  readonly split: string | undefined;
  readonly settings: Settings;
  readonly foreign: ForeignChoice;
  readonly choosing: Choosing | undefined;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** Files of another split. */
  readonly against: readonly string[];
  readonly reports: readonly ReportAsked[];
}

/** Reads and prints. @throws Failure `input-invalid`, once what was found was printed */
export const check = async (
  context: Context,
  { files, typed }: { readonly files: readonly string[]; readonly typed: TypedCheck },
): Promise<void> => {
  const judgement = judgementTyped(typed);
  const reports = reportsAsked(typed.report ?? [], { context, inputs: files });
  const settings = await settingsInForce(context, { split: typed.split });
  const { groupBy, against = [] } = typed;
  const split = settings.get("split");
  const foreign = foreignTyped(typed, { receipt: false });
  const choosing = await choosingTyped(typed);
  await checkFiles(context, { settings, split, foreign, choosing, files, groupBy, judgement, against, reports });
};

const checkFiles = async (context: Context, options: CheckOptions): Promise<void> => {
  const report = async (
    sources: Reading["sources"],
    problemsOf: (form: ReportForm) => Promise<readonly Problem[]>,
  ): Promise<void> => {
    for (const asked of options.reports) {
      const problems = await problemsOf(asked.form);
      // An input that could not be read has problems, and is no source.
      const others = [...new Set(problems.flatMap(({ file }) => file ?? []))];
      const inputs = [...sources.map(({ name }) => name), ...others];
      const mode = modeOf([...sources, ...others.map((name) => ({ name }))]);
      await printReport(context.screen, { ...asked, inputs, problems, mode });
    }
  };
  /** Of what can't be read to its end, only that is reported: no other input is known to be valid then. */
  const reportEnd = async (thrown: unknown): Promise<never> => {
    if (thrown instanceof Failure && thrown.code === "invalid_input") {
      await report([], async () => thrown.about.problems ?? []);
    }
    throw thrown;
  };
  const reading = await readChecked(context, { ...options, goesOn: true }).catch(reportEnd);
  try {
    tellConversion(context, reading);
    tellGrouping(context, reading, options.groupBy);
    if (options.against.length > 0) {
      const against = { ...options, files: options.against, split: undefined, goesOn: false };
      const other = await readChecked(context, against).catch(reportEnd);
      await reportAgainst(reading, other).finally(other.close);
    }
    const result = checkResult(reading);
    await sayWarnings(context, reading, result.problems);
    await report(reading.sources, async (form) => await reported(reading, form));
    // Where there was nothing to check, there is nothing to say of it but that.
    const isShown = options.reports.every(({ file }) => file !== undefined);
    if (isShown && reading.found.parts.count > 0) await printResult(context, reading, result);
    if (result.failure !== undefined) throw await withFrames(context, reading, result.failure);
  } finally {
    await reading.close();
  }
};

/** Annotations that a build is told: far more than GitHub shows. */
const mostAnnotations = 1000;

/** What a report is made of: all problems, but GitHub shows few, and is told the first of each warning. */
const reported = async ({ problems, sources }: Reading, form: ReportForm): Promise<readonly Problem[]> => {
  const all = problems.sorted(sources.map(({ name }) => name));
  if (form !== "github") return all;
  const warnings = all.filter(({ severity }) => severity === "warning");
  const shown = await problemsToShow([], { problems: warnings, counts: problems.counts, most: mostAnnotations });
  return [...all.filter(({ severity }) => severity === "error"), ...shown.problems];
};

const readChecked = async (
  context: Context,
  { against, reports: _, ...options }: CheckOptions & { readonly goesOn: boolean },
): Promise<Reading> => {
  const progress = context.screen.progress("checking");
  return await readInputs(context, {
    ...options,
    isOnlyLookedAt: options.choosing === undefined && against.length === 0,
    onProgress: ({ bytes, of }) => progress.update(`checking, ${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`),
    onFetched: (fetched) => progress.update(fetchedText(fetched)),
  }).finally(progress.stop);
};

const printResult = async ({ screen }: Context, reading: Reading, result: CheckResult): Promise<void> => {
  if (screen.isForProgram) return await printDocument(screen, checkDocument(result));
  await printFacts(screen, { facts: checkFacts(result), metrics: result.metrics });
  await printPicture(screen, () => drawnOf(reading));
};

const checkDocument = ({
  status,
  split,
  groups,
  trajectories,
  metrics,
  problems,
  problemsLeftOut,
  leftOut,
  unreadable,
}: CheckResult) => ({
  status,
  split: split ?? null,
  groups,
  trajectories,
  metrics,
  problems: problems.map(problemFacts),
  ...unreadableFact(unreadable),
  not_chosen: leftOut,
  ...(problemsLeftOut === 0 ? {} : { problems_left_out: problemsLeftOut }),
  warnings: problems.filter(({ severity }) => severity === "warning").map(problemFacts),
});

/** The document of `check --json`. */
export type CheckDocument = ReturnType<typeof checkDocument>;

/** What a run of `check` found, in lines. */
const checkFacts = ({ status, split, groups, trajectories, unreadable }: CheckResult): readonly Fact[] => [
  { name: "status", value: status },
  ...(split === undefined ? [] : [{ name: "split", value: split }]),
  { name: "groups", value: `${rejectedText(groups)}${unreadableText(unreadable)}` },
  { name: "trajectories", value: rejectedText(trajectories) },
];

const rejectedText = ({ read, rejected }: { readonly read: number; readonly rejected: number }): string =>
  rejected === 0 ? String(read) : `${read}, ${rejected} of them not valid`;
