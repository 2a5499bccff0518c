/** Reads the examples of the rules. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isFailure, type Problem } from "../../../src/failure.ts";
import { renderProblem } from "../../../src/output/print-failure.ts";
import { openScreen } from "../../../src/output/screen.ts";
import { reportSplitLeaks } from "../../../src/rollouts/dataset/prompts.ts";
import { type Dataset, readDataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import type { ExampleInputs } from "../../../src/rollouts/rules/rule.ts";
import { type RuleName, ruleNames, rules } from "../../../src/rollouts/rules/rules.ts";
import { selectProblems } from "../../../src/session/print-problems.ts";
import { testHost } from "../../support/host.ts";

/** A rule whose example is read. */
export interface ReadRule {
  readonly name: RuleName;
  readonly example: ExampleInputs;
}

/** The rules that reading fires. */
export const readRules: readonly ReadRule[] = ruleNames.flatMap((name) => {
  const { example } = rules[name];
  return "files" in example ? [{ name, example }] : [];
});

/** The problems of inputs, as they are shown. */
export const problemsIn = async ({ files, split, groupBy, against }: ExampleInputs): Promise<readonly Problem[]> => {
  const folder = mkdtempSync(join(tmpdir(), "rules-"));
  const paths = Object.entries({ ...files, ...(against === undefined ? {} : { "val.jsonl": against }) });
  for (const [name, content] of paths) if (content !== undefined) writeFileSync(join(folder, name), content);
  const read = async (names: readonly string[]): Promise<Dataset> =>
    await readDataset({
      host: testHost(),
      files: names.map((name) => join(folder, name)),
      split,
      maxUnpackedBytes: 2 ** 36,
      groupBy,
      ...{ from: "rollcall", hasReceipt: false, allowsLossy: false, keepsHistories: false },
    });
  // The folder is this machine's: what is shown has the files' own names.
  const own = (text: string): string => text.replaceAll(`${folder}/`, "").replaceAll(folder, ".");
  const named = (problem: Problem): Problem => ({
    ...problem,
    ...(problem.file === undefined ? {} : { file: problem.file === folder ? "." : basename(problem.file) }),
    message: own(problem.message),
    ...(problem.others === undefined
      ? {}
      : { others: { ...problem.others, positions: problem.others.positions.map((position) => own(position)) } }),
  });
  try {
    const reading = await read(Object.keys(files));
    if (against !== undefined) {
      const other = await read(["val.jsonl"]);
      await reportSplitLeaks(reading, other);
      await other.close();
    }
    const problems = reading.scan.problems.sorted();
    const { shown } = await selectProblems(reading.sources, { problems, counts: [], max: 1000 });
    await reading.close();
    return shown.map(named);
  } catch (thrown) {
    if (isFailure(thrown, "invalid-input")) return (thrown.details.problems ?? []).map(named);
    throw thrown;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Renders a problem as on a terminal. */
export const told = async (problem: Problem, columns = 80): Promise<string> =>
  await renderProblem(openScreen({ host: testHost({ terminal: { columns } }), options: {} }), problem);
