/** The run of `rollcall convert`: reads, checks, and writes the groups as lines. */

import { contradiction } from "../../cli/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { Failure } from "../../failure.ts";
import { openDraft, requireFree, writeOut } from "../../files.ts";
import type { ReceiptData } from "../../formats/index.ts";
import { groupLines, type Reading } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument } from "../../output/index.ts";
import { type CheckResult, checkResult, writeRejected } from "../../send/index.ts";
import { conversionInexact, convertRejected } from "../failures.ts";
import { printFacts, sayWarnings, withFrames } from "../inputs/findings.ts";
import { fetchedText, readInputs, sayConversion, writeReceipt } from "../inputs/read.ts";
import type { TypedConvert } from "./command.ts";

/** Converts and prints. @throws Failure `input-invalid`, `conversion-inexact`, `out-exists`, `out-unwritable` */
export const convert = async (context: Context, typed: TypedConvert): Promise<void> => {
  requireOutputs(context, typed);
  const settings = await settingsInForce(context);
  const progress = context.screen.progress("converting");
  const reading = await readInputs(context, {
    settings,
    typed,
    files: typed.file,
    receipt: true,
    split: undefined,
    goesOn: typed.onInvalid === "skip",
    groupBy: typed.groupBy,
    onFetched: (fetched) => progress.update(fetchedText(fetched)),
  }).finally(progress.stop);
  try {
    sayConversion(context, reading);
    await convertReading(context, reading, typed);
  } finally {
    await reading.close();
  }
};

/** Refuses a terminal, and files that exist. */
const requireOutputs = ({ screen, host }: Context, { out, receipt }: TypedConvert): void => {
  if (out === "-" && screen.isForProgram)
    throw contradiction("--out -", "--json", "standard output holds one of them: name a file");
  if (out === "-" && host.terminal.stdout)
    throw contradiction("--out -", "a terminal", "its lines are for a file or a program: name one, or use > or |");
  for (const file of [out, receipt]) if (file !== undefined && file !== "-") requireFree(file);
};

const convertReading = async (context: Context, reading: Reading, typed: TypedConvert): Promise<void> => {
  const { conversion } = reading;
  const result = checkResult(reading);
  await sayWarnings(context, reading, result.problems);
  if (result.failure !== undefined && typed.onInvalid !== "skip")
    throw await withFrames(context, reading, result.failure);
  const receipt = conversion?.receipt?.data(conversion.format);
  if (typed.receipt !== undefined) writeReceipt(context, typed.receipt, reading);
  if (typed.exact && receipt !== undefined && receipt.leaves.left_out > 0) {
    const paths = [...new Set(receipt.left_out.map(({ path }) => path))];
    throw conversionInexact(receipt.leaves.left_out, paths);
  }
  const { rejects } = typed;
  const redact = context.screen.safe.verbatimJson;
  const rejectsFile = result.failure === undefined ? undefined : await writeRejected(reading, { rejects, redact });
  await writeGroups(context, reading, typed.out);
  await printResult(context, { result, receipt, typed, rejectsFile });
  if (rejectsFile !== undefined) throw await withFrames(context, reading, rejectedFailure(result, rejectsFile));
};

const rejectedFailure = ({ groups, unreadable, failure }: CheckResult, file: string): Failure =>
  convertRejected(
    { written: groups.read - groups.rejected, rejected: groups.rejected, unreadable, file },
    { ...failure?.about, stoppedBy: "invalid_input", retryable: false },
  );

const writeGroups = async ({ screen }: Context, reading: Reading, file: string): Promise<void> => {
  if (file === "-") {
    for await (const piece of groupLines(reading)) await screen.bytes(piece);
    return;
  }
  const draft = writeOut(file, () => openDraft(file, modeOf(reading.sources)));
  try {
    for await (const piece of groupLines(reading)) writeOut(file, () => draft.write(piece));
    writeOut(file, () => draft.commit());
  } finally {
    draft.discard();
  }
};

interface Converted {
  readonly result: CheckResult;
  readonly receipt: ReceiptData | undefined;
  readonly typed: TypedConvert;
  readonly rejectsFile: string | undefined;
}

const printResult = async ({ screen }: Context, { result, receipt, typed, rejectsFile }: Converted): Promise<void> => {
  const { groups, trajectories, leftOut } = result;
  if (screen.isForProgram) {
    return await printDocument(screen, {
      status: "converted",
      format: receipt?.format ?? null,
      groups,
      trajectories,
      out: typed.out,
      rejects_file: rejectsFile ?? null,
      leaves: receipt?.leaves ?? null,
      left_out: receipt?.left_out ?? [],
      not_chosen: leftOut,
    });
  }
  if (receipt !== undefined && receipt.leaves.left_out > 0) screen.notice(withoutPlaceText(receipt, typed));
  if (typed.out === "-") return;
  const facts = [
    { name: "groups", value: groups.read - groups.rejected },
    { name: "trajectories", value: trajectories.read - trajectories.rejected },
    ...(groups.rejected === 0 ? [] : [{ name: "rejected", value: `${groups.rejected} groups` }]),
    ...(rejectsFile === undefined ? [] : [{ name: "rejects", value: rejectsFile }]),
    { name: "written to", value: typed.out },
  ];
  await printFacts(screen, { facts, metrics: {} });
};

/** Paths of values without a place that are named at most. */
const maxPaths = 5;

const withoutPlaceText = ({ leaves, left_out }: ReceiptData, { receipt }: TypedConvert): string => {
  const counts = new Map<string, number>();
  for (const { path, count } of left_out) counts.set(path, (counts.get(path) ?? 0) + count);
  const paths = [...counts].sort(([, a], [, b]) => b - a);
  const named = paths.slice(0, maxPaths).map(([path, count]) => `${path} (${count})`);
  const more = paths.length > maxPaths ? ` and ${paths.length - maxPaths} more` : "";
  const where = receipt === undefined ? ": --receipt <file> lists all with their reasons" : "";
  return `${leaves.left_out} of ${leaves.read} values have no place: ${named.join(", ")}${more}${where}`;
};
