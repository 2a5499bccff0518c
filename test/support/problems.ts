/** Reads inputs in rollcall's format, and returns their problems. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isFailure, type Problem } from "../../src/failure.ts";
import { formatWarning } from "../../src/output/print-failure.ts";
import { Screen } from "../../src/output/screen.ts";
import { plainPaint } from "../../src/output/views.ts";
import { readDataset } from "../../src/rollouts/dataset/read-dataset.ts";
import { selectProblems } from "../../src/session/print-problems.ts";
import { testHost } from "./host.ts";

export const question = '{"role":"user","content":"2+2?"}';
export const answer = '{"role":"assistant","content":"4"}';
export const toolCall =
  '{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}';
export const toolResult = '{"role":"tool","tool_call_id":"a","content":"found"}';

export const choice = (more = "", message = answer) => `{"finish_reason":"stop","index":0,"message":${message}${more}}`;
export const trajectory = (reward: string | number, more = "", turns = `${question},${choice()}`) =>
  `{"messages_and_choices":[${turns}],"reward":${reward}${more}}`;
export const messages = (...turns: readonly string[]) => trajectory(1, "", turns.join(","));
export const group = (...trajectories: readonly string[]) => `{"trajectories":[${trajectories.join(",")}]}`;
export const goodGroup = group(trajectory(0), trajectory(1));

type Files = Readonly<Record<string, string | Uint8Array>>;
/** `all`: also those that are equal to an earlier one. */
export type ReadOptions = Readonly<{ split?: string; groupBy?: readonly string[]; all?: boolean }>;

/** The problems of inputs, as they are shown. @param input the files, or the lines of one file */
export const problemsIn = async (
  input: string | Uint8Array | Files,
  { split, groupBy, all = false }: ReadOptions = {},
): Promise<readonly Problem[]> => {
  const files = typeof input === "string" || input instanceof Uint8Array ? { "step.jsonl": input } : input;
  const folder = mkdtempSync(join(tmpdir(), "rules-"));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
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
    const reading = await readDataset({
      host: testHost(),
      files: Object.keys(files).map((name) => join(folder, name)),
      split,
      maxUnpackedBytes: 2 ** 36,
      groupBy,
      from: "rollcall",
    });
    const problems = reading.scan.problems.sorted();
    const { shown } = await selectProblems(reading.sources, { problems, counts: [], max: 1000 });
    await reading.close();
    return (all ? problems : shown).map(named);
  } catch (thrown) {
    if (isFailure(thrown, "invalid-input")) return (thrown.details.problems ?? []).map(named);
    throw thrown;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Renders a problem as on a terminal. */
export const told = async (problem: Problem, columns = 80): Promise<string> => {
  const screen = new Screen({ host: testHost({ terminal: { columns, stderr: true } }), options: {} });
  return (await formatWarning(screen, problem, plainPaint)).trimEnd();
};
