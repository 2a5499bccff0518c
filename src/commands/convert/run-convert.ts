/** Converts rollouts, and writes the result, its receipt and the rejected records. */
import { Failure, toWarningDocuments } from "../../failure.ts";
import { printDocument } from "../../output/list.ts";
import { checkFactFields, printFacts, toFacts } from "../../output/lists/print-facts.ts";
import type { Screen } from "../../output/screen.ts";
import { type CheckResult, composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { readGroupLines } from "../../rollouts/dataset/group-bytes.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { TrainingRows } from "../../rollouts/dataset/training-rows.ts";
import { combineModes } from "../../rollouts/input/source.ts";
import type { Context } from "../../session/context.ts";
import { checkOutputFiles, writeReceipt } from "../../session/output-files.ts";
import { printWarnings } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import { requiredOptionMissing } from "../../system/failures.ts";
import { requireOutputFile, saveOutput } from "../../system/files.ts";
import { formatList, formatRejected, pluralize } from "../../text/sentences.ts";
import { stdoutIsTerminal } from "../failures.ts";
import type { ConvertOptions } from "./command.ts";
import type { ConvertDocument } from "./output.ts";

/** @throws Failure `required-option-missing`, `output-exists` */
const checkOptions = ({ screen, host }: Context, typed: ConvertOptions) => {
  const { out, to } = typed;
  const what = to === "groups" ? "groups" : "rows";
  if (out === "-" && screen.isForProgram)
    throw requiredOptionMissing("--json", `--out <file>, because otherwise the ${what} also go to standard output`);
  if (out === "-" && host.terminal.stdout)
    throw stdoutIsTerminal(`convert does not print ${what}`, `pass --out ${what}.jsonl, or redirect standard output`);
  checkOutputFiles(typed, ["--out ", out]);
  if (out === "-") return;
  checkFactFields(screen);
  requireOutputFile(out);
};

/** Warnings about training with rewards, which no row has. */
const rewardRules = ["missing-logprobs", "single-trajectory-group", "zero-variance-group"];

export const convert = async (context: Context, given: ConvertOptions) => {
  const allow = given.to === "groups" ? given.allow : [...given.allow, ...rewardRules];
  const typed = { ...given, allow };
  checkOptions(context, typed);
  const skipsInvalid = typed.onInvalid === "skip";
  const needs = { hasReceipt: true, continuesAfterErrors: skipsInvalid };
  const dataset = await readRollouts(context, typed, { ...needs, label: "converting" });
  const result = composeCheckResult(dataset, true);
  await printWarnings(context, dataset, result.problems);
  const { failure, groups, unreadable } = result;
  if (failure && !skipsInvalid) throw failure;
  const changes = await openChanges(typed);
  const file = await writeFiles(context, typed, { dataset, changes, hasRejects: failure !== undefined });
  await printResult(context, typed, { dataset, result, changes, rejects_file: file });
  if (file === null) return;
  const written = pluralize(groups.read - groups.rejected, "group");
  const message = `${formatRejected({ rejected: groups.rejected, unreadable })} (see ${file}), ${written} written`;
  const hint = `fix the problems listed in ${file}.reasons and convert the input again`;
  const details = { ...failure?.details, stoppedBy: "invalid_input", retryable: false, hint } as const;
  throw new Failure("partial", "convert-rejected", message, details);
};

/** The changes of groups on their way to the output. */
type Changes = Awaited<ReturnType<typeof openChanges>>;

const openChanges = async ({ to }: ConvertOptions) => ({
  rows: to === "groups" ? undefined : new (await import("../../rollouts/dataset/training-rows.ts")).TrainingRows(to),
});

/** Returns the name of the rejects file; null if no group is rejected. */
const writeFiles = async (
  context: Context,
  { out, receipt, rejects }: ConvertOptions,
  { dataset, changes, hasRejects }: { dataset: Dataset; changes: Changes; hasRejects: boolean },
) => {
  const { screen, host } = context;
  const { rows } = changes;
  const file = hasRejects
    ? await (await import("../../logging/send/log-dataset.ts")).writeRejected(dataset, rejects, screen.cleaner.json)
    : null;
  const pieces = readGroupLines(dataset, function* change(line, group) {
    yield* rows?.compose(line, group) ?? [line];
  });
  if (out !== "-") await saveOutput({ file: out, pieces, mode: combineModes(dataset.sources) }, host);
  else for await (const piece of pieces) await screen.printBytes(piece);
  // Rows are known after they are written.
  const lists = { rows: rows?.listRows(), omitted: rows?.listOmitted() };
  if (receipt !== undefined) await writeReceipt(context, receipt, dataset, lists);
  return file;
};

type Converted = Readonly<{ dataset: Dataset; result: CheckResult; changes: Changes; rejects_file: string | null }>;

const printResult = async (
  { screen }: Context,
  typed: ConvertOptions,
  { dataset, result, changes: { rows }, rejects_file }: Converted,
) => {
  const { groups, trajectories, problems } = result;
  const { leaves = null, left_out = [], added = [], format = null } = dataset.conversion?.receipt?.data() ?? {};
  if (rows) printRowNotes(screen, rows);
  if (screen.isForProgram) {
    const notes = screen.notices;
    const counts = { format, groups, trajectories, out: typed.out, rejects_file, leaves, left_out, added };
    const rowCounts = rows && { written: rows.written, truncated: rows.truncated, missing: rows.withoutRow };
    const warnings = toWarningDocuments(problems);
    const document = { ...counts, rows: rowCounts, warnings, notes };
    return await printDocument<ConvertDocument>(screen, { status: "converted", ...document });
  }
  const facts = toFacts({
    groups: groups.read - groups.rejected,
    trajectories: trajectories.read - trajectories.rejected,
    rejected: groups.rejected === 0 ? undefined : pluralize(groups.rejected, "group"),
    rejects: rejects_file,
    rows: rows?.written,
    "written to": typed.out,
  });
  if (typed.out !== "-") await printFacts(screen, { facts });
};

const printRowNotes = (screen: Screen, rowCounts: TrainingRows) => {
  const { to, withoutRow, truncated, withHistories, cut, omittedKeys } = rowCounts;
  const reasons = Object.entries(withoutRow).flatMap(([reason, count]) =>
    count === 0 ? [] : `${reason.replaceAll("_", " ")} (${count})`,
  );
  const missing = Object.values(withoutRow).reduce((sum, count) => sum + count, 0);
  const [one, many] = to === "messages" ? ["trajectory", "trajectories"] : ["group", "groups"];
  if (missing > 0) screen.notice(`wrote no row of ${pluralize(missing, one, many)}: ${formatList(reasons)}`);
  const rows = pluralize(truncated, "row has", "rows have");
  if (truncated > 0) screen.notice(`${rows} a truncated trajectory `);
  const trajectoriesCut = pluralize(cut, "trajectory", "trajectories");
  if (cut > 0) screen.notice(`omitted the messages after the last sampled turn of ${trajectoriesCut}`);
  const keys = Array.from(omittedKeys, ([key, count]) => `${key} (${count})`);
  if (keys.length > 0) screen.notice(`rows do not contain these keys of messages: ${formatList(keys, 5)}`);
  const histories = pluralize(withHistories, "trajectory", "trajectories");
  if (withHistories > 0) screen.notice(`rows do not contain the additional histories of ${histories}`);
};
