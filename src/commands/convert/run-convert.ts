import { readEffectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { composeCheckResult, openTrainingRows, readGroupLines, type TrainingRows } from "../../dataset/index.ts";
import { toProblemDocument } from "../../failure.ts";
import { conflictingOptions, requiredOptionMissing } from "../../failures.ts";
import { requireUnusedFile, savePieces } from "../../files.ts";
import { listInexactValues, type ReceiptData, sumCounts } from "../../formats/index.ts";
import { combineModes } from "../../input/index.ts";
import { printFacts, toFacts } from "../../lists/print-facts.ts";
import { printDocument, type Screen } from "../../output/index.ts";
import { checkOutputFiles, writeReceipt } from "../../reading/output-files.ts";
import { printWarnings } from "../../reading/print-problems.ts";
import { closeDatasetAtEnd, printInputNotes, readInputs } from "../../reading/read-inputs.ts";
import { writeRejected } from "../../send/index.ts";
import { formatList, pluralize } from "../../sentences.ts";
import { conversionInexact, convertRejected, stdoutIsTerminal } from "../failures.ts";
import type { ConvertOptions } from "./command.ts";
import type { ConvertDocument } from "./output.ts";

/** @throws Failure `required-option-missing`, `conflicting-options`, `output-exists` */
const checkOptions = ({ screen, host }: Context, typed: ConvertOptions) => {
  const { out, to } = typed;
  const what = to === "groups" ? "groups" : "rows";
  if (out === "-" && screen.isForProgram)
    throw requiredOptionMissing("--json", `--out <file>, because otherwise the ${what} also go to standard output`);
  if (out === "-" && host.terminal.stdout)
    throw stdoutIsTerminal(`convert does not print ${what}`, `pass --out ${what}.jsonl, or redirect standard output`);
  if (typed.exact && to !== "groups")
    throw conflictingOptions("--exact", `--to ${to}`, "rows have only the messages and tools of a trajectory");
  if (typed.exact && typed.redact) throw conflictingOptions("--exact", "--redact", "--redact changes values");
  checkOutputFiles(typed, ["--out ", out]);
  if (out !== "-") requireUnusedFile(out);
};

export const convert = async (context: Context, given: ConvertOptions) => {
  const { screen, host } = context;
  // Redacted secrets need no warning.
  const typed = given.redact ? { ...given, allow: [...given.allow, "secret-in-content"] } : given;
  const { out, rejects, to } = typed;
  const skipsInvalid = typed.onInvalid === "skip";
  const writesToStdout = out === "-";
  checkOptions(context, typed);
  const settings = await readEffectiveSettings(context);
  const request = { settings, typed, hasReceipt: true, continuesAfterErrors: skipsInvalid, label: "converting" };
  const dataset = await readInputs(context, request);
  closeDatasetAtEnd(context, dataset);
  printInputNotes(context, dataset, typed);
  const {
    failure,
    groups,
    trajectories,
    problems,
    filteredOut: not_chosen,
    unreadable,
  } = composeCheckResult(dataset, true);
  await printWarnings(context, dataset, problems);
  if (failure && !skipsInvalid) throw failure;
  const receipt = dataset.conversion?.receipt?.data();
  const { leaves = null, left_out = [], added = [], format = null } = receipt ?? {};
  const rows = to === "groups" ? undefined : await openTrainingRows(to);
  const redactor = typed.redact ? new (await import("../../problems/redact-json.ts")).Redactor() : undefined;
  const saveReceipt = async () => {
    const lists = { rows: rows?.listRows(dataset), redacted: redactor?.counts };
    if (typed.receipt !== undefined) await writeReceipt(context, typed.receipt, dataset, lists);
  };
  const isRewritten = rows !== undefined || redactor !== undefined;
  if (!isRewritten) await saveReceipt();
  if (typed.exact && receipt) requireExact(receipt);
  const redact = screen.cleaner.json;
  const rejects_file = failure ? await writeRejected(dataset, { rejects, redact }) : null;
  const lines = readGroupLines(dataset, function* rewrite(line, group) {
    for (const piece of rows?.compose(line, group) ?? [line]) yield redactor?.redact(piece) ?? piece;
  });
  if (!writesToStdout) await savePieces({ file: out, pieces: lines, mode: combineModes(dataset.sources) }, host);
  else for await (const piece of lines) await screen.printBytes(piece);
  // Rows and redactions are known after they are written.
  if (isRewritten) await saveReceipt();
  const written = groups.read - groups.rejected;
  if (receipt && receipt.leaves.left_out > 0) screen.notice(formatOmittedValues(receipt, typed));
  if (rows) printRowNotes(screen, rows);
  const secrets = sumCounts(redactor?.counts ?? []);
  if (secrets > 0) screen.notice(`redacted ${pluralize(secrets, "secret")}`);
  if (screen.isForProgram) {
    const notes = screen.notices;
    const counts = { format, groups, trajectories, out, rejects_file, leaves, left_out, added, not_chosen };
    const rowCounts = rows && { written: rows.written, truncated: rows.truncated, missing: rows.withoutRow };
    const warnings = problems.filter(({ severity }) => severity === "warning").map(toProblemDocument);
    const document = { ...counts, rows: rowCounts, redacted: redactor?.counts, warnings, notes };
    await printDocument<ConvertDocument>(screen, { status: "converted", ...document });
  } else {
    const facts = toFacts({
      groups: written,
      trajectories: trajectories.read - trajectories.rejected,
      rejected: groups.rejected === 0 ? undefined : pluralize(groups.rejected, "group"),
      rejects: rejects_file,
      rows: rows?.written,
      "written to": out,
    });
    if (!writesToStdout) await printFacts(screen, { facts });
  }
  if (rejects_file === null) return;
  const details = { ...failure?.details, stoppedBy: "invalid_input", retryable: false } as const;
  throw convertRejected({ written, rejected: groups.rejected, unreadable, file: rejects_file }, details);
};

/** @throws Failure `conversion-inexact` */
const requireExact = (receipt: ReceiptData) => {
  const { left_out, changed, derived } = listInexactValues(receipt);
  const describe = (values: readonly { count: number; path: string }[], wrong: readonly [string, string]) => {
    const paths = new Set(values.map(({ path }) => path));
    return values.length === 0 ? [] : `${pluralize(sumCounts(values), ...wrong)} (${formatList([...paths])})`;
  };
  const last = sumCounts(derived);
  const faults = [
    describe(left_out, ["value has no field in a trajectory", "values have no field in a trajectory"]),
    describe(changed, ["value has another form in a trajectory", "values have another form in a trajectory"]),
    last === 0 ? [] : `the record does not state the finish_reason of ${pluralize(last, "last turn")}`,
  ].flat();
  if (faults.length > 0) throw conversionInexact(faults);
};

const formatOmittedValues = ({ leaves, left_out }: ReceiptData, { receipt }: ConvertOptions) => {
  const counts = new Map<string, number>();
  for (const { path, count } of left_out) counts.set(path, (counts.get(path) ?? 0) + count);
  const paths = [...counts].sort(([, a], [, b]) => b - a).map(([path, count]) => `${path} (${count})`);
  const where = receipt === undefined ? "; list all with --receipt <file>" : "";
  return `${leaves.left_out} of ${leaves.read} values not converted: ${formatList(paths, 5)}${where}`;
};

const printRowNotes = (screen: Screen, { to, withoutRow, truncated, withHistories }: TrainingRows) => {
  const reasons = Object.entries(withoutRow).flatMap(([reason, count]) =>
    count === 0 ? [] : `${reason.replaceAll("_", " ")} (${count})`,
  );
  const missing = Object.values(withoutRow).reduce((sum, count) => sum + count, 0);
  const [one, many] = to === "messages" ? ["trajectory", "trajectories"] : ["group", "groups"];
  if (missing > 0) screen.notice(`wrote no row of ${pluralize(missing, one, many)}: ${formatList(reasons)}`);
  const rows = pluralize(truncated, "row has", "rows have");
  if (truncated > 0) screen.notice(`${rows} a truncated trajectory (omit them with --where '!truncated')`);
  const histories = pluralize(withHistories, "trajectory", "trajectories");
  if (withHistories > 0) screen.notice(`rows do not contain the additional histories of ${histories}`);
};
