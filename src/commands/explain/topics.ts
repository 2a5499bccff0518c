/** What `rollcall explain` explains: the codes that a run can end with, and the rules of problems. */

import { acceptAdvice, lockRulePages } from "../../catalogs/index.ts";
import { createProblem, type ExampleInputs, getRule, type RuleName, ruleNames } from "../../check/index.ts";
import { exitCodes, type FailureCode, type Problem, type Severity } from "../../failure.ts";
import { makeLooseModeProblem } from "../../files.ts";
import { type Dataset, readSources, reportSplitLeaks } from "../../groups/index.ts";
import { memoryBytes, type Source } from "../../input/index.ts";
import type { Line } from "../../output/index.ts";
import { findImportProblem } from "../../settings/index.ts";
import { selectProblems } from "../inputs/problems.ts";

/** A code or a rule, as it is listed in JSON, which has no functions. */
export interface Topic {
  readonly name: string;
  readonly kind: "code" | "rule";
  readonly about: string;
  readonly code: FailureCode | null;
  readonly exit_codes: readonly number[];
  readonly severity: Severity | null;
  /** The lines of its page. */
  readonly lines: () => readonly Line[];
  /** The problem that a person is shown of a rule. */
  readonly example?: () => Problem | Promise<Problem>;
}

/** When a run ends with a code (exit-codes.md), in the order of the exit codes. */
const codeMeanings: Readonly<Record<FailureCode, string>> = {
  internal: "A defect of rollcall.",
  usage: "Wrong arguments, or a setting that is missing or can't be used.",
  invalid_input: "Bad input. Nothing was sent.",
  auth: "No credential, or the service refused it.",
  unavailable: "The network or the service is down for now. Running the same command again is safe.",
  refused: "The service refused the request, or answered with something else than its interface says.",
  partial: "Some of it was logged; the rest was refused, rejected or not sent.",
  unknown_outcome: "A request may or may not have been logged.",
  not_found: "There is no such call, model or catalog entry.",
  differs: "What was compared differs.",
  storage: "A file or folder of rollcall's own can't be used.",
  interrupted: "SIGHUP, SIGINT or SIGTERM. Running the same command again goes on.",
};

const isCode = (name: string): name is FailureCode => Object.hasOwn(exitCodes, name);

/** The codes. */
export const codeTopics: readonly Topic[] = Object.entries(codeMeanings).flatMap(([code, about]): readonly Topic[] => {
  if (!isCode(code)) return [];
  const exits = [exitCodes[code]].flatMap((exit) => (typeof exit === "number" ? exit : Object.values(exit)));
  const kind = { label: "kind", text: `error code, exit code ${exits.join(", ")}` };
  const lines = () => [kind, { label: "when", text: about }];
  return [{ name: code, kind: "code", about, code, exit_codes: exits, severity: null, lines }];
});

type Example = NonNullable<Topic["example"]>;

const ruleTopic = (name: string, severity: Severity, about: string, example: Example, options: Line[] = []): Topic => {
  const kind = { label: "kind", text: `a rule: ${severity === "error" ? "an error" : "a warning"}` };
  const lines = () => [kind, ...options, { label: "why", text: about }];
  return { name, kind: "rule", about, code: null, exit_codes: [], severity, lines, example };
};

/** The example of a rule of trajectories: read as a file is read, but from memory. */
export const exampleProblem = async <Name extends RuleName>(name: Name): Promise<Problem> => {
  const { example } = getRule(name);
  if ("data" in example) return createProblem(name, example.data, example.location);
  const { files, against, ...how } = example;
  const reading = await readExampleFiles(files, how);
  if (against !== undefined) await reportSplitLeaks(reading, await readExampleFiles({ "val.jsonl": against }, how));
  const problems = reading.problems.sorted(Object.keys(files)).filter(({ rule }) => rule === name);
  const max = Number.POSITIVE_INFINITY;
  const [problem] = (await selectProblems(reading.sources, { problems, counts: [], max })).shown;
  if (problem === undefined) throw new Error(`the example of ${name} does not fire it`);
  return problem;
};

const readExampleFiles = async (
  files: ExampleInputs["files"],
  how: Pick<ExampleInputs, "split" | "groupBy">,
): Promise<Dataset> => {
  const sources = Object.entries(files).map(([name, content = ""]): Source => {
    return { name, bytes: memoryBytes([Buffer.from(content)]), touched: async () => false };
  });
  const { split, groupBy } = how;
  const { signal } = new AbortController();
  const own = { split, groupBy, splitNeeded: false, signal, onProgress: () => undefined };
  return { ...(await readSources(sources, own)), close: async () => undefined };
};

const trajectoryTopics = ruleNames.map((name): Topic => {
  const { severity, why } = getRule(name);
  const options = { label: "options", text: `--strict makes it an error, --allow ${name} silences it` };
  return ruleTopic(name, severity, why, () => exampleProblem(name), severity === "warning" ? [options] : []);
});

/** What every failing rule of a lock file advises if there is such a model. */
const cheapestAdvice = "the cheapest that can do the same is maker/other: 0.3 $/M in, 1.2 $/M out";

const lockTopics = lockRulePages().map(({ rule, why, message, severity, line }) => {
  const advice = severity === "warning" ? acceptAdvice : cheapestAdvice;
  const position = { file: "rollcall.lock.json", line, column: 7 };
  const example = () => ({ ...position, rule, severity, message: `maker/large ${message}`, advice });
  return ruleTopic(rule, severity, why, example);
});

/** The problem of a member of a file with settings. */
const toImportExample =
  (key: string, value: string, local = false) =>
  (): Problem => {
    const wrong = findImportProblem(key, value, { local, windows: false });
    if (wrong === undefined) throw new Error(`nothing is wrong with ${key}`);
    return { file: "team.json", line: 3, column: 3, severity: "error", ...wrong };
  };

/** Rules of settings, keys and the local service. */
const otherRules: readonly (readonly [name: string, severity: Severity, why: string, example: Example])[] = [
  [
    "insecure-permissions",
    "warning",
    "Keys and settings are one user's own; a file or folder that others can get at gives them away.",
    () => makeLooseModeProblem("/home/ada/.config/rollcall/settings.json", 0o644, "600"),
  ],
  [
    "setting-invalid",
    "error",
    "A value that is saved, or is to be imported, is none that the setting takes.",
    toImportExample("project", "alpha"),
  ],
  [
    "setting-unknown",
    "error",
    "What is to be imported names a setting that this version does not have.",
    toImportExample("base_urk", "https://train.example"),
  ],
  [
    "built-in-setting",
    "error",
    "The profile `local` uses the service inside rollcall, which has an address and a key of its own.",
    toImportExample("base_url", "https://train.example", true),
  ],
  [
    "secret-in-settings",
    "error",
    "Settings are shown and shared; a secret is saved apart from them, by `rollcall auth login`.",
    toImportExample("api_key", "k"),
  ],
  [
    "key-not-verified",
    "warning",
    "`auth login` tries a key with a read; where there is none, or nobody answers, it is saved as it is.",
    async () => (await import("../auth.ts")).unansweredKeyProblem("https://train.example", { isDown: true }),
  ],
  [
    "exposed-address",
    "warning",
    "`rollcall serve` listens on an address that other machines can reach, over plain http.",
    async () => (await import("../../service/index.ts")).openAddressProblem("0.0.0.0"),
  ],
];

/** Everything that can be explained. */
export const topics: readonly Topic[] = [
  ...codeTopics,
  ...trajectoryTopics,
  ...lockTopics,
  ...otherRules.map((rule) => ruleTopic(...rule)),
];
