/** The part of the errors page that has a section for each rule, and what is shown of it, made by firing it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { otherRules, whyOf } from "../../src/commands/explain/pages.ts";
import { type Failure, isFailure, type Problem } from "../../src/failure.ts";
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

/** What a person is told of a failure or a problem on a terminal. */
export const told = async (said: Failure | Problem, columns = 80): Promise<string> =>
  await openScreen({ host: testHost({ terminal: { columns } }), words: screenWords({}) }).drawn(said);

/** What is said of each rule that trajectories are held against, by firing it. */
export const firedExamples = async (): Promise<ReadonlyMap<RuleName, Problem>> => {
  const fired = new Map<RuleName, Problem>();
  for (const name of ruleNames) {
    const example = ruleExamples[name];
    const found = "fires" in example ? await problemsIn(example.fires) : [saidProblem(name)];
    const problem = found.find(({ rule }) => rule === name);
    if (problem === undefined) throw new Error(`the example of ${name} does not fire it`);
    fired.set(name, problem);
  }
  return fired;
};

/** The file of the program that holds them. */
export const firedFile = async (): Promise<string> => {
  const entries = Array.from(await firedExamples(), ([name, problem]) => `  "${name}": ${JSON.stringify(problem)},\n`);
  return `/** What a person is shown of each rule: written by \`npm run docs\`, which fires the rules. */
import type { Problem } from "../failure.ts";

/** An example of each rule that trajectories are held against. */
export const exampleOf: Readonly<Record<string, Problem>> = {
${entries.join("")}};
`;
};

/** The sections of all rules. */
export const ruleSections = async (): Promise<string> => {
  const fired = Array.from(await firedExamples(), ([name, example]) => ({ name, why: whyOf[name], example }));
  const others = Object.entries(otherRules).map(([name, { why, example }]) => ({ name, why, example }));
  const sections = [...fired, ...others].map(
    async ({ name, why, example }) => `### ${name}\n\n${why}\n\n\`\`\`text\n${await told(example)}\n\`\`\``,
  );
  return (await Promise.all(sections)).join("\n\n");
};

const saidProblem = <Name extends RuleName>(name: Name): Problem => {
  const example: ReadExample | SaidExample<Name> = ruleExamples[name];
  if ("fires" in example) throw new Error(`${name} is fired by reading`);
  return problemOf(name, example.data, example.where);
};
