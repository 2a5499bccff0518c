/** What `rollcall convert` does: reads, checks, and writes the groups as lines. */
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { openDraft, requireFree, writeOut } from "../../files.ts";
import type { ReceiptData } from "../../formats/index.ts";
import { groupLines, type Reading } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument } from "../../output/index.ts";
import { type CheckResult, checkResult, type StopOrSkip, writeRejected } from "../../send/index.ts";
import { printFacts, sayWarnings, withFrames } from "../log/findings.ts";
import type { TypedJudging } from "../log/judging.ts";
import { judgementTyped } from "../log/options.ts";
import { choosingTyped, type TypedChoosing } from "./choosing.ts";
import { fetchedText, foreignTyped, type TypedForeign, tellConversion, writeReceipt } from "./foreign.ts";
import { readInputs } from "./inputs.ts";

/** The options as commander gives them. */
export interface TypedConvert extends TypedForeign, TypedJudging, TypedChoosing {
  readonly out: string;
  readonly receipt?: string;
  readonly exact?: boolean;
  readonly groupBy?: string;
  readonly onInvalid?: StopOrSkip;
  readonly rejects?: string;
}

/** Converts and prints. @throws Failure `input-invalid`, `conversion-inexact`, `out-exists`, `out-unwritable` */
export const convert = async (
  context: Context,
  { files, typed }: { readonly files: readonly string[]; readonly typed: TypedConvert },
): Promise<void> => {
  const { screen } = context;
  requirePlaces(context, typed);
  const foreign = foreignTyped(typed, { receipt: true });
  const settings = await settingsInForce(context);
  const progress = screen.progress("converting");
  const choosing = await choosingTyped(typed);
  const reading = await readInputs(context, {
    settings,
    choosing,
    files,
    foreign,
    split: undefined,
    judgement: judgementTyped(typed),
    goesOn: typed.onInvalid === "skip",
    groupBy: typed.groupBy,
    onFetched: (fetched) => progress.update(fetchedText(fetched)),
  }).finally(progress.stop);
  try {
    tellConversion(context, reading);
    await convertReading(context, reading, typed);
  } finally {
    await reading.close();
  }
};

const convertReading = async (context: Context, reading: Reading, typed: TypedConvert): Promise<void> => {
  const { conversion } = reading;
  const result = checkResult(reading);
  await sayWarnings(context, reading, result.problems);
  const skips = typed.onInvalid === "skip";
  const redact = context.screen.safe.verbatimJson;
  if (result.failure !== undefined && !skips) throw await withFrames(context, reading, result.failure);
  const receipt = conversion?.receipt?.data(conversion.format);
  if (typed.receipt !== undefined) writeReceipt(context, typed.receipt, reading);
  if (typed.exact === true && receipt !== undefined && receipt.leaves.left_out > 0) throw inexact(receipt);
  const rejectsFile =
    result.failure === undefined ? undefined : await writeRejected(reading, { rejects: typed.rejects, redact });
  const pieces = groupLines(reading);
  await (typed.out === "-" ? writePieces(context, pieces) : writeFile(typed.out, pieces, modeOf(reading.sources)));
  await printResult(context, { result, receipt, typed, rejectsFile });
  if (rejectsFile !== undefined) throw await withFrames(context, reading, rejected(result, rejectsFile));
};

const rejected = ({ groups, unreadable, failure }: CheckResult, file: string): Failure =>
  new Failure(
    "convert-rejected",
    { written: groups.read - groups.rejected, rejected: groups.rejected, unreadable, file },
    { ...failure?.about, stoppedBy: "invalid_input", retryable: false },
  );

const inexact = ({ leaves, left_out }: ReceiptData): Failure =>
  new Failure("conversion-inexact", { count: leaves.left_out, paths: [...new Set(left_out.map(({ path }) => path))] });

const writePieces = async ({ screen }: Context, pieces: AsyncIterable<Buffer>): Promise<void> => {
  for await (const piece of pieces) await screen.bytes(piece);
};

const writeFile = async (file: string, pieces: AsyncIterable<Buffer>, mode: number): Promise<void> => {
  const draft = writeOut(file, () => openDraft(file, mode));
  try {
    for await (const piece of pieces) writeOut(file, () => draft.write(piece));
    writeOut(file, () => draft.commit());
  } finally {
    draft.discard();
  }
};

/** Nothing that is there is written over. */
const requirePlaces = ({ screen, host }: Context, { out, receipt }: TypedConvert): void => {
  const { isForProgram } = screen;
  if (out === "-" && (isForProgram || host.terminal.stdout)) {
    const [second, why] = isForProgram
      ? ["--json", "standard output holds one of them: name a file"]
      : ["a terminal", "its lines are for a file or a program: name one, or use > or |"];
    throw new Failure("options-contradict", { first: "--out -", second, why });
  }
  for (const file of [out, receipt]) {
    if (file !== undefined && file !== "-") requireFree(file);
  }
};

const printResult = async (
  context: Context,
  {
    result: { groups, trajectories, leftOut },
    receipt,
    typed,
    rejectsFile,
  }: {
    readonly result: CheckResult;
    readonly receipt: ReceiptData | undefined;
    readonly typed: TypedConvert;
    readonly rejectsFile: string | undefined;
  },
): Promise<void> => {
  const { screen } = context;
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
  if (receipt !== undefined && receipt.leaves.left_out > 0) tellLeft(context, receipt, typed);
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

/** Paths of values without a place that are named. */
const mostNamed = 5;

const tellLeft = ({ screen }: Context, { leaves, left_out }: ReceiptData, { receipt }: TypedConvert): void => {
  const byPath = new Map<string, number>();
  for (const { path, count } of left_out) byPath.set(path, (byPath.get(path) ?? 0) + count);
  const paths = [...byPath].sort(([, a], [, b]) => b - a);
  const named = paths.slice(0, mostNamed).map(([path, count]) => `${path} (${count})`);
  const more = paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : "";
  const where = receipt === undefined ? ": --receipt <file> lists all with their reasons" : "";
  screen.notice(`${leaves.left_out} of ${leaves.read} values have no place: ${named.join(", ")}${more}${where}`);
};
