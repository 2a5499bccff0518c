/** The codes that a run can end with, and the rules of problems, each with its meaning. */

import { ruleNames, rules } from "../../check/index.ts";
import { exitCodes, type FailureCode, type Problem, type Severity } from "../../failure.ts";
import { otherRules } from "./other-rules.ts";
import { exampleProblem } from "./rule-example.ts";

/** A code of the exit-code table. */
export interface CodeTopic {
  readonly kind: "code";
  readonly name: FailureCode;
  readonly exitCodes: readonly number[];
  readonly about: string;
}

/** A rule: what a problem has in brackets. */
export interface RuleTopic {
  readonly kind: "rule";
  readonly name: string;
  readonly about: string;
  readonly severity: Severity;
  /** What a person is shown of it. */
  readonly example: () => Promise<Problem>;
  /** Whether `--strict` and `--allow` are about it. */
  readonly judged: boolean;
}

/** What can be explained. */
export type Topic = CodeTopic | RuleTopic;

const isCode = (name: string): name is FailureCode => Object.hasOwn(exitCodes, name);

const exitsOf = (code: FailureCode): readonly number[] => {
  const exits = exitCodes[code];
  return typeof exits === "number" ? [exits] : Object.values(exits);
};

/** When a run ends with a code (exit-codes.md). */
const whenOf: Readonly<Record<FailureCode, string>> = {
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

/** The codes, in the order of their exit codes. */
export const codeTopics: readonly CodeTopic[] = Object.keys(exitCodes)
  .filter(isCode)
  .map((name) => ({ kind: "code", name, exitCodes: exitsOf(name), about: whenOf[name] }));

const ruleTopics: readonly RuleTopic[] = [
  ...ruleNames.map((name): RuleTopic => {
    const { severity, why } = rules[name];
    return { kind: "rule", name, about: why, severity, example: () => exampleProblem(name), judged: true };
  }),
  ...Object.entries(otherRules).map(
    ([name, { why: about, severity, example }]): RuleTopic => ({
      kind: "rule",
      name,
      about,
      severity,
      example: async () => await example(),
      judged: false,
    }),
  ),
];

/** Everything that can be explained. */
export const topics: readonly Topic[] = [...codeTopics, ...ruleTopics];
