/** Checks rollouts, and prints their metrics and reports. */
import { Failure, type Problem, toProblemDocument, toWarningDocuments } from "../../failure.ts";
import {
  checkFactFields,
  composeDocument,
  type DescribedDocument,
  formatUnreadable,
  printFacts,
  toFacts,
} from "../../output/list.ts";
import { type CheckResult, composeCheckResult, computeMetrics } from "../../rollouts/dataset/check-result.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { checkReport } from "../../session/output-files.ts";
import { printWarnings } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import { roundForDisplay } from "../../text/units.ts";
import type { CheckOptions } from "./command.ts";

type MeasuredResult = CheckResult & Readonly<{ metrics: Awaited<ReturnType<typeof computeMetrics>> }>;

const document: DescribedDocument<MeasuredResult & Readonly<{ notes: readonly string[] }>> = {
  status: ({ status }) => status,
  split: ({ split = null }) => split,
  groups: ({ groups }) => groups,
  trajectories: ({ trajectories }) => trajectories,
  metrics: ({ metrics }) => metrics,
  problems: ({ problems }) => problems.map(toProblemDocument),
  /** The records that cannot be read, each of which counts as a rejected group. */
  unreadable_lines: ({ unreadable }) => unreadable || undefined,
  problems_left_out: ({ omittedProblemCount }) => omittedProblemCount || undefined,
  warnings: ({ problems }) => toWarningDocuments(problems),
  notes: ({ notes }) => notes,
};

export const check = async (context: Context, typed: CheckOptions) => {
  const { host, screen } = context;
  const { report } = typed;
  await checkReport(screen, report);
  checkFactFields(screen, Object.keys(document));
  const settings = await readEffectiveSettings(context, { split: typed.split });
  const printProblems = async (problems: readonly Problem[], dataset?: Dataset, result?: MeasuredResult) => {
    if (report === undefined) return;
    const { printReport } = await import("../../output/ci-report.ts");
    await printReport(screen, { ...listReported(problems, dataset), values: result && listValues(result) });
  };
  const reportFailure = async (thrown: unknown) => {
    if (thrown instanceof Failure && thrown.code === "invalid_input")
      await printProblems(thrown.details.problems ?? []);
    throw thrown;
  };
  const split = settings.get("split");
  const needs = { settings, label: "checking", skipsDigests: true, split, continuesAfterErrors: true };
  const dataset = await readRollouts(context, typed, needs).catch(reportFailure);
  const metrics = await computeMetrics(dataset, dataset.split, host.signal);
  const result = { ...composeCheckResult(dataset), metrics };
  await printWarnings(context, dataset, result.problems);
  await printProblems(result.problems, dataset, result);
  if (report === undefined && dataset.scan.parts.count > 0) {
    const values = composeDocument(document, { ...result, notes: screen.notices });
    await printFacts(screen, { facts: listFacts(result), metrics, document: values });
  }
  if (result.failure) throw result.failure;
};

const listReported = (problems: readonly Problem[], dataset: Dataset | undefined) => {
  const { sources = [] } = dataset ?? {};
  // An unreadable input has no source, so its problem provides the name.
  const names = [
    ...sources.flatMap(({ name, originals }) => originals?.files ?? name),
    ...problems.flatMap(({ file }) => file ?? []),
  ];
  const inputs = [...new Set(names)];
  return { title: "rollcall check", inputs, problems, counts: dataset?.scan.problems.counts };
};

const listFacts = ({ status, split, groups, trajectories, unreadable }: CheckResult) => {
  const groupsText = `${formatReadCount(groups)}${formatUnreadable(unreadable)}`;
  return toFacts({ status, split, groups: groupsText, trajectories: formatReadCount(trajectories) });
};

const listValues = (result: MeasuredResult) => {
  const metrics = Object.entries(result.metrics).map(([name, value]) => ({ name, value: roundForDisplay(value) }));
  return [...listFacts(result), ...metrics];
};

const formatReadCount = ({ read, rejected }: CheckResult["groups"]) =>
  rejected === 0 ? String(read) : `${read}: ${read - rejected} valid, ${rejected} invalid`;
