/** Checks the files that a run will write. */

import type { Screen } from "../output/screen.ts";
import { conflictingOptions, rejectsPathMissing } from "../system/failures.ts";
import { identifyFile, requireWritableFolder } from "../system/files.ts";
import type { InputOptions } from "./options.ts";

/** @throws Failure `conflicting-options`, `output-unwritable` */
export const checkReport = async (screen: Screen, report: "github" | undefined) => {
  if (report === undefined) return;
  if (screen.isJson) throw conflictingOptions("--report github", "--json", "both go to standard output");
  (await import("../output/ci-report.ts")).requireSummaryFile(screen);
};

type FileUse = readonly [text: string, file: string | undefined];

type OutputOptions = Pick<InputOptions, "file" | "rewards" | "onInvalid"> & Readonly<{ rejects: string | undefined }>;

/** @throws Failure `conflicting-options`, `output-exists`, `output-unwritable`, `rejects-path-missing` */
export const checkOutputFiles = (typed: OutputOptions, ...others: readonly FileUse[]) => {
  const { file: inputs, rejects, onInvalid } = typed;
  const [first = "-"] = inputs;
  const skips = onInvalid === "skip";
  if (skips && rejects === undefined && first === "-") throw rejectsPathMissing();
  const rejected = rejects ?? (skips ? `${first}.rejected` : undefined);
  const reasons = rejected && `${rejected}.reasons`;
  const uses = { "--rejects ": rejected, "the reasons file ": reasons };
  requireSeparateFiles([...others, ...Object.entries(uses)], listInputFiles(typed));
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
