/** Shows the problem of a rule's example: reads the example as a file is read, but from memory. */

import { type Inputs, problemOf, type RuleName, ruleOf } from "../../check/index.ts";
import type { Problem } from "../../failure.ts";
import { type Reading, readSources, reportAgainst } from "../../groups/index.ts";
import { memoryBytes, type Source } from "../../input/index.ts";
import { problemsToShow } from "../inputs/problems.ts";

/** The problem on a rule's page, as a person sees it. */
export const exampleProblem = async <Name extends RuleName>(name: Name): Promise<Problem> => {
  const { example } = ruleOf(name);
  if ("said" in example) return problemOf(name, example.said, example.where);
  const { files, against, ...how } = example;
  const reading = await readTexts(files, how);
  if (against !== undefined) await reportAgainst(reading, await readTexts({ "val.jsonl": against }, how));
  const problems = reading.problems.sorted(Object.keys(files)).filter(({ rule }) => rule === name);
  const max = Number.POSITIVE_INFINITY;
  const [problem] = (await problemsToShow(reading.sources, { problems, counts: [], max })).shown;
  if (problem === undefined) throw new Error(`the example of ${name} does not fire it`);
  return problem;
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
