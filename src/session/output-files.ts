/** Checks the files that a run will write, and writes receipts. */

import { requireSummaryFile } from "../output/ci-report.ts";
import type { Screen } from "../output/screen.ts";
import { listParts } from "../rollouts/dataset/group-bytes.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { isRemote } from "../rollouts/input/names.ts";
import { combineModes, locateLine } from "../rollouts/input/source.ts";
import { conflictingOptions, rejectsPathMissing } from "../system/failures.ts";
import { identifyFile, requireOutputFile, requireWritableFolder, saveOutput } from "../system/files.ts";
import type { Context } from "./context.ts";
import type { InputOptions } from "./options/input-options.ts";

/** @throws Failure `conflicting-options`, `output-unwritable` */
export const checkReport = (screen: Screen, report: "github" | undefined) => {
  if (report === undefined) return;
  if (screen.isForProgram) throw conflictingOptions("--report github", "--json", "both go to standard output");
  requireSummaryFile(screen);
};

type FileUse = readonly [text: string, file: string | undefined];

type OutputOptions = Pick<InputOptions, "file" | "rewards" | "onInvalid"> &
  Readonly<Record<"receipt" | "rejects", string | undefined>>;

/** @throws Failure `conflicting-options`, `output-exists`, `output-unwritable`, `rejects-path-missing` */
export const checkOutputFiles = (typed: OutputOptions, ...others: readonly FileUse[]) => {
  const { file: inputs, receipt, rejects, onInvalid } = typed;
  const [first = "-"] = inputs;
  const skips = onInvalid === "skip";
  if (skips && rejects === undefined && (first === "-" || isRemote(first))) throw rejectsPathMissing();
  const rejected = rejects ?? (skips ? `${first}.rejected` : undefined);
  const reasons = rejected && `${rejected}.reasons`;
  const uses = { "--receipt ": receipt, "--rejects ": rejected, "the reasons file ": reasons };
  requireSeparateFiles([...others, ...Object.entries(uses)], listInputFiles(typed));
  if (receipt !== undefined) requireOutputFile(receipt);
  // A file can be read again if the rejects file cannot be written.
  if (rejects !== undefined && first === "-") requireWritableFolder(rejects);
};

export const listInputFiles = ({ file, rewards }: Pick<InputOptions, "file" | "rewards">) =>
  rewards === undefined ? file : [...file, rewards];

/** @throws Failure `conflicting-options` */
export const requireSeparateFiles = (outputs: readonly FileUse[], inputs: readonly string[]) => {
  // Returns early, because `identifyFile` takes time for many inputs.
  if (outputs.every(([, file = "-"]) => file === "-")) return;
  const uses = new Map([[identifyFile("/dev/stdout"), "standard output"]]);
  for (const file of inputs) uses.set(identifyFile(file), `the input ${file}`);
  for (const [text, file = "-"] of outputs) {
    const identity = file === "-" ? undefined : identifyFile(file);
    if (identity === undefined) continue;
    const earlierUse = uses.get(identity);
    if (earlierUse !== undefined) throw conflictingOptions(earlierUse, text + file, "both are the same file");
    uses.set(identity, text + file);
  }
};

/** @param lists further lists of the receipt, by name */
export const writeReceipt = async ({ host, screen }: Context, file: string, dataset: Dataset) => {
  const pieces = composeReceipt(dataset, screen.cleaner.json);
  await saveOutput({ file, pieces, mode: combineModes(dataset.sources) }, host);
};

/** rollcall counts only converted values, so `leaves` is null. */
const unconvertedData = {
  format: "rollcall",
  note: "the input is in rollcall's format, so no value was converted",
  leaves: null,
  left_out: [],
  changed: [],
  added: [],
  carried: [],
};

function* listRecords({ conversion, ...dataset }: Dataset) {
  yield* conversion?.receipt?.records() ?? [];
  const { groups, scan, sources } = dataset;
  for (let group = 0; group < groups.count; group++) {
    for (const [at, { source, part }] of listParts({ groups, scan, sources }, group).entries()) {
      const trajectory = part.kind === "trajectory" ? at + 1 : null;
      if (!source.originals) yield { ...locateLine(source, part.line), group: group + 1, trajectory };
    }
  }
}

function* composeReceipt(dataset: Dataset, redact: (json: string) => string) {
  const data = dataset.conversion?.receipt?.data() ?? unconvertedData;
  yield `${redact(JSON.stringify(data, null, 2)).slice(0, -"\n}".length)},\n  "records": [`;
  let separator = "";
  for (const item of listRecords(dataset)) {
    yield `${separator}\n    ${redact(JSON.stringify(item))}`;
    separator = ",";
  }
  yield "\n  ]\n}\n";
}
