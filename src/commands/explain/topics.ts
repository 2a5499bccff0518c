/** Lists the topics of `rollcall explain`, which are codes and rules. */

import type { Severity } from "../../failure.ts";
import { reportSplitLeaks } from "../../rollouts/dataset/prompts.ts";
import { readSources } from "../../rollouts/dataset/read-dataset.ts";
import { openMemoryBytes } from "../../rollouts/input/source.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import type { ExampleInputs } from "../../rollouts/rules/rule.ts";
import { getRule, type RuleName, redactMessage, ruleNames } from "../../rollouts/rules/rules.ts";
import { selectProblems } from "../../session/print-problems.ts";
import { codeTopics, type Topic } from "./code-topics.ts";

const ruleTopic = (name: string, severity: Severity, about: Topic["about"], example?: Topic["example"]): Topic => {
  return { name, kind: "rule", about, code: null, exit_codes: [], severity, example };
};

export const exampleProblem = async (name: RuleName) => {
  const { example } = getRule(name);
  if ("data" in example) return createProblem(name, example.data, example.location);
  const { files, against, ...readOptions } = example;
  const dataset = await readExampleFiles(files, readOptions);
  if (against !== undefined)
    await reportSplitLeaks(dataset, await readExampleFiles({ "val.jsonl": against }, readOptions));
  const problems = dataset.scan.problems.sorted().filter(({ rule }) => rule === name);
  const [problem] = (await selectProblems(dataset.sources, { problems })).shown;
  if (!problem) throw new Error(`the example of ${name} does not violate the rule`);
  return problem;
};

const readExampleFiles = async (
  files: ExampleInputs["files"],
  { split, groupBy }: Pick<ExampleInputs, "split" | "groupBy">,
) => {
  const sources = Object.entries(files).map(([name, content = ""]) => {
    return { name, bytes: openMemoryBytes(Buffer.from(content)) };
  });
  const options = { split, groupBy, host: new AbortController() };
  return { ...(await readSources(sources, options)), close: async () => undefined };
};

const trajectoryTopics = ruleNames.map((name) => {
  const { severity, why } = getRule(name);
  return ruleTopic(name, severity, why, () => exampleProblem(name));
});

/** Rules of warnings that are not about trajectories. */
const otherRules = {
  "insecure-permissions": "Other users can read or change keys or settings in this file or folder.",
  "setting-invalid": "The setting does not accept this saved value.",
  "key-not-verified":
    "`auth login` tests a key by reading from the service. It saves an untested key if only `rollcall log` sends the key, or if the test needs a project and no project is set. If the service does not answer, `auth login` saves the key unless a key for another URL is already saved.",
  "exposed-address": "Other machines can reach the address of `rollcall serve`, and keys travel over plain http.",
  "reference-in-content":
    "A message of a call refers to an object that the tracing client recorded elsewhere, so `call read --as` prints the reference, not the content.",
};

const otherTopics = Object.entries(otherRules).map(([name, about]) => ruleTopic(name, "warning", about));

export const describeTopic = async ({ about, example }: Topic) =>
  about ?? (example && redactMessage(await example())) ?? "";

export const topics = [...codeTopics, ...trajectoryTopics, ...otherTopics];
