/** Shows what a rule's example says: reads it as a file is read, but from memory. */

import { problemOf } from "../../check/rules/problems.ts";
import type { Example, Inputs } from "../../check/rules/rule.ts";
import { type RuleData, type RuleName, ruleOf } from "../../check/rules/rules.ts";
import type { Problem } from "../../failure.ts";
import { type Reading, readSources, reportAgainst } from "../../groups/index.ts";
import { memoryBytes, type Source } from "../../input/source.ts";
import { problemsToShow } from "./shown-problems.ts";

/** The problem that a rule's page shows, as a person is shown it. */
export const exampleProblem = async <Name extends RuleName>(name: Name): Promise<Problem> => {
  const example: Example<RuleData<Name>> = ruleOf(name).example;
  if ("said" in example) return problemOf(name, example.said, example.where);
  const problem = (await problemsOf(example.fires)).find(({ rule }) => rule === name);
  if (problem === undefined) throw new Error(`the example of ${name} does not fire it`);
  return problem;
};

const problemsOf = async ({ files, against, ...how }: Inputs): Promise<readonly Problem[]> => {
  const reading = await readTexts(files, how);
  if (against !== undefined) await reportAgainst(reading, await readTexts({ "val.jsonl": against }, how));
  const problems = reading.problems.sorted(Object.keys(files));
  return (await problemsToShow(reading.sources, { problems, counts: [], most: Number.POSITIVE_INFINITY })).problems;
};

const readTexts = async (
  files: Inputs["files"],
  { split, groupBy }: Pick<Inputs, "split" | "groupBy">,
): Promise<Reading> => {
  const sources = Object.entries(files).map(([name, content = ""]): Source => {
    return { name, bytes: memoryBytes([Buffer.from(content)]), touched: async () => false };
  });
  const { signal } = new AbortController();
  const own = { split, groupBy, splitNeeded: false, signal, onProgress: () => undefined };
  return { ...(await readSources(sources, own)), close: async () => undefined };
};
