/** The part of the errors page that has a section for each rule; made by firing it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isFailure, type Problem } from "../../src/failure.ts";
import { openScreen, screenWords } from "../../src/output/index.ts";
import {
  problemOf,
  problemsToShow,
  type Reading,
  type RuleName,
  readTrajectories,
  reportAgainst,
  rules,
} from "../../src/trajectories/index.ts";
import { testHost } from "../host.ts";
import { type Inputs, type ReadExample, ruleExamples, type SaidExample } from "./rules.ts";

const isRule = (name: string): name is RuleName => name in rules;

/** Names of all rules. */
export const ruleNames: readonly RuleName[] = Object.keys(rules).filter(isRule);

/** Names of the rules that reading fires. */
export const readRules: readonly RuleName[] = ruleNames.filter((name) => "fires" in ruleExamples[name]);

/** The problems of inputs, as they are shown. */
export const problemsIn = async ({ files, split, groupBy, against }: Inputs): Promise<readonly Problem[]> => {
  const folder = mkdtempSync(join(tmpdir(), "rules-"));
  const paths = Object.entries({ ...files, ...(against === undefined ? {} : { "val.jsonl": against }) });
  for (const [name, content] of paths) if (content !== undefined) writeFileSync(join(folder, name), content);
  const read = async (names: readonly string[]): Promise<Reading> =>
    await readTrajectories({
      host: testHost(),
      files: names.map((name) => join(folder, name)),
      split,
      splitNeeded: false,
      groupBy,
      onOpened: () => undefined,
      onProgress: () => undefined,
    });
  // The folder is this machine's: what is shown has the files' own names.
  const own = (text: string): string => text.replaceAll(`${folder}/`, "").replaceAll(folder, ".");
  const named = (problem: Problem): Problem => ({
    ...problem,
    ...(problem.file === undefined ? {} : { file: problem.file === folder ? "." : basename(problem.file) }),
    message: own(problem.message),
    ...(problem.others === undefined
      ? {}
      : { others: { ...problem.others, places: problem.others.places.map((place) => own(place)) } }),
  });
  try {
    const reading = await read(Object.keys(files));
    if (against !== undefined) {
      const other = await read(["val.jsonl"]);
      await reportAgainst(reading, other);
      await other.close();
    }
    const problems = reading.problems.sorted(reading.sources.map(({ name }) => name));
    const shown = await problemsToShow(reading.sources, { problems, counts: [], most: 1000 });
    await reading.close();
    return shown.problems.map(named);
  } catch (thrown) {
    if (isFailure(thrown, "input-invalid")) return (thrown.about.problems ?? []).map(named);
    throw thrown;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** What a person is shown of a problem on a terminal of 80 columns. */
export const shownOf = async (problem: Problem, columns = 80): Promise<string> => {
  const host = testHost({ terminal: { stderr: true, columns }, env: { NO_COLOR: "1" } });
  const screen = openScreen({ host, words: screenWords({}) });
  screen.warn(problem);
  await screen.text("");
  return host.said().trimEnd();
};

/** The sections of all rules. */
export const ruleSections = async (): Promise<string> => {
  const sections: string[] = [];
  for (const name of ruleNames) {
    const example = ruleExamples[name];
    const found = "fires" in example ? await problemsIn(example.fires) : [saidProblem(name)];
    const problem = found.find(({ rule }) => rule === name);
    if (problem === undefined) throw new Error(`the example of ${name} does not fire it`);
    sections.push(`### ${name}\n\n${example.why}\n\n\`\`\`text\n${await shownOf(problem)}\n\`\`\``);
  }
  return sections.join("\n\n");
};

const saidProblem = <Name extends RuleName>(name: Name): Problem => {
  const example: ReadExample | SaidExample<Name> = ruleExamples[name];
  if ("fires" in example) throw new Error(`${name} is fired by reading`);
  return problemOf(name, example.data, example.where);
};
