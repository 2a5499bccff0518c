/** The run of `rollcall convert`: reads, checks, and writes the groups as lines. */
import { contradiction } from "../../cli/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { openDraft, requireFree, writeOut } from "../../files.ts";
import type { ReceiptData } from "../../formats/index.ts";
import { groupLines, type Reading } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument } from "../../output/index.ts";
import { checkResult, writeRejected } from "../../send/index.ts";
import { conversionInexact, convertRejected } from "../failures.ts";
import { sayWarnings, withFrames } from "../inputs/problems.ts";
import { factsIn, printFacts, readInputs, sayConversion, writeReceipt } from "../inputs/read.ts";
import type { ConvertDocument } from "../schema/trajectories.ts";
import type { TypedConvert } from "./command.ts";

/** Converts and prints. @throws Failure `input-invalid`, `conversion-inexact`, `convert-rejected`, `out-exists`, `out-unwritable` */
export const convert = async (context: Context, typed: TypedConvert): Promise<void> => {
  const { screen, host } = context;
  const { out, rejects } = typed;
  if (out === "-" && screen.isForProgram)
    throw contradiction("--out -", "--json", "standard output holds one of them: name a file");
  if (out === "-" && host.terminal.stdout)
    throw contradiction("--out -", "a terminal", "its lines are for a file or a program: name one, or use > or |");
  for (const file of [out, typed.receipt]) if (file !== undefined && file !== "-") requireFree(file);
  const settings = await settingsInForce(context);
  const goesOn = typed.onInvalid === "skip";
  const reading = await readInputs(context, { settings, typed, receipt: true, goesOn, label: "converting" });
  const ended = async (thrown: unknown) => await withFrames(context, reading.sources, thrown);
  try {
    sayConversion(context, reading);
    const { conversion } = reading;
    const { failure, groups, trajectories, problems, leftOut, unreadable } = checkResult(reading);
    await sayWarnings(context, reading, problems);
    if (failure !== undefined && !goesOn) throw await ended(failure);
    const receipt = conversion?.receipt?.data();
    const { leaves = null, left_out = [], format = null } = receipt ?? {};
    if (typed.receipt !== undefined) writeReceipt(context, typed.receipt, reading);
    if (typed.exact && leaves !== null && leaves.left_out > 0)
      throw conversionInexact(leaves.left_out, [...new Set(left_out.map(({ path }) => path))]);
    const redact = screen.safe.verbatimJson;
    const rejectsFile = failure === undefined ? undefined : await writeRejected(reading, { rejects, redact });
    await writeGroups(context, reading, out);
    const written = groups.read - groups.rejected;
    if (screen.isForProgram) {
      const [status, rejects_file, not_chosen] = ["converted", rejectsFile ?? null, leftOut] as const;
      const document = { status, format, groups, trajectories, out, rejects_file, leaves, left_out, not_chosen };
      await printDocument(screen, document satisfies ConvertDocument);
    } else {
      if (receipt !== undefined && receipt.leaves.left_out > 0) screen.notice(leftOutText(receipt, typed));
      const facts = factsIn({
        groups: written,
        trajectories: trajectories.read - trajectories.rejected,
        rejected: groups.rejected === 0 ? undefined : `${groups.rejected} groups`,
        rejects: rejectsFile,
        "written to": out,
      });
      if (out !== "-") await printFacts(screen, { facts });
    }
    if (rejectsFile === undefined) return;
    const about = { ...failure?.about, stoppedBy: "invalid_input", retryable: false } as const;
    throw await ended(convertRejected({ written, rejected: groups.rejected, unreadable, file: rejectsFile }, about));
  } finally {
    await reading.close();
  }
};

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

/** Paths of values without a place that are named at most. */
const maxPaths = 5;

const leftOutText = ({ leaves, left_out }: ReceiptData, { receipt }: TypedConvert): string => {
  const counts = new Map<string, number>();
  for (const { path, count } of left_out) counts.set(path, (counts.get(path) ?? 0) + count);
  const paths = [...counts].sort(([, a], [, b]) => b - a);
  const named = paths.slice(0, maxPaths).map(([path, count]) => `${path} (${count})`);
  const more = paths.length > maxPaths ? ` and ${paths.length - maxPaths} more` : "";
  const where = receipt === undefined ? ": --receipt <file> lists all with their reasons" : "";
  return `${leaves.left_out} of ${leaves.read} values have no place: ${named.join(", ")}${more}${where}`;
};
