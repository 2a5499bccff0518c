/** Converts rollouts, and writes the result and the rejected records. */
import { Failure, toWarningDocuments } from "../../failure.ts";
import { checkFactFields, printDocument, printFacts, toFacts } from "../../output/list.ts";
import { type CheckResult, composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { readGroupLines } from "../../rollouts/dataset/group-bytes.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { combineModes } from "../../rollouts/input/source.ts";
import type { Context } from "../../session/context.ts";
import { checkOutputFiles } from "../../session/output-files.ts";
import { printWarnings } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import { requiredOptionMissing } from "../../system/failures.ts";
import { requireOutputFile, saveOutput } from "../../system/files.ts";
import { formatRejected, pluralize } from "../../text/sentences.ts";
import type { ConvertOptions } from "./command.ts";

const documentKeys = [...["status", "format", "groups", "trajectories", "out", "rejects_file", "warnings", "notes"]];

/** @throws Failure `required-option-missing`, `output-exists` */
const checkOptions = ({ screen, host }: Context, typed: ConvertOptions) => {
  const { out } = typed;
  if (out === "-" && screen.isJson)
    throw requiredOptionMissing("--json", "--out <file>, because otherwise the groups also go to standard output");
  if (out === "-" && host.terminal.stdout)
    throw new Failure("usage", "conflicting-options", "convert does not print groups to a terminal", {
      hint: "pass --out groups.jsonl, or redirect standard output",
    });
  checkOutputFiles(typed, ["--out ", out]);
  if (out === "-") return;
  checkFactFields(screen, documentKeys);
  requireOutputFile(out);
};

export const convert = async (context: Context, typed: ConvertOptions) => {
  checkOptions(context, typed);
  const skipsInvalid = typed.onInvalid === "skip";
  const dataset = await readRollouts(context, typed, { continuesAfterErrors: skipsInvalid, label: "converting" });
  const result = composeCheckResult(dataset, true);
  await printWarnings(context, dataset, result.problems);
  const { failure, groups, unreadable } = result;
  if (failure && !skipsInvalid) throw failure;
  const file = await writeFiles(context, typed, { dataset, hasRejects: failure !== undefined });
  await printResult(context, typed, { dataset, result, rejects_file: file });
  if (file === null) return;
  const written = pluralize(groups.read - groups.rejected, "group");
  const message = `${formatRejected({ rejected: groups.rejected, unreadable })} (see ${file}), ${written} written`;
  const hint = `fix the problems listed in ${file}.reasons and convert the input again`;
  const details = { ...failure?.details, stoppedBy: "invalid_input", retryable: false, hint } as const;
  throw new Failure("partial", "convert-rejected", message, details);
};

/** Returns the name of the rejects file; null if no group is rejected. */
const writeFiles = async (
  context: Context,
  { out, rejects }: ConvertOptions,
  { dataset, hasRejects }: { dataset: Dataset; hasRejects: boolean },
) => {
  const { screen, host } = context;
  const file = hasRejects
    ? await (await import("../../logging/send/log-dataset.ts")).writeRejected(dataset, rejects, screen.cleaner.json)
    : null;
  const pieces = readGroupLines(dataset);
  if (out !== "-") await saveOutput({ file: out, pieces, mode: combineModes(dataset.sources) }, host);
  else for await (const piece of pieces) await screen.printBytes(piece);
  return file;
};

type Converted = Readonly<{ dataset: Dataset; result: CheckResult; rejects_file: string | null }>;

const printResult = async (
  { screen }: Context,
  typed: ConvertOptions,
  { dataset, result, rejects_file }: Converted,
) => {
  const { groups, trajectories, problems } = result;
  if (screen.isJson) {
    const format = dataset.conversion?.formats.map((used) => used.format.name).join(", ") ?? null;
    const counts = { format, groups, trajectories, out: typed.out, rejects_file };
    const warnings = toWarningDocuments(problems);
    return await printDocument(screen, { status: "converted", ...counts, warnings, notes: screen.notices });
  }
  const facts = toFacts({
    groups: groups.read - groups.rejected,
    trajectories: trajectories.read - trajectories.rejected,
    rejected: groups.rejected === 0 ? undefined : pluralize(groups.rejected, "group"),
    rejects: rejects_file,
    "written to": typed.out,
  });
  if (typed.out !== "-") await printFacts(screen, { facts });
};
