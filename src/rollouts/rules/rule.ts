/** Defines the type of rules, and texts for examples. */
import type { Severity } from "../../failure.ts";

export type RuleText<Data> = string | ((data: Data) => string);

/** A text that rollcall computes only for stored problems. */
export type LazyMessage = () => string | undefined;

export interface Rule<Data> {
  severity: Severity;
  message: RuleText<Data>;
  /** The message without content of the input. Default: `message`. */
  redactedMessage?: string;
  advice: RuleText<Data>;
  /** Undefined if the message gives the reason. */
  why?: string;
  /** A value, a whole group or trajectory (without excerpt), or the whole input. */
  about: "value" | "whole" | "input";
  example: ExampleInputs | ExampleProblem<Data>;
}

export interface ExampleInputs {
  /** The contents by file name. Undefined means a missing file. */
  files: Readonly<Record<string, string | Uint8Array | undefined>>;
  split?: string;
  groupBy?: readonly string[];
  against?: string;
}

type ExampleProblem<Data> = { data: Data; location: { file?: string; line?: number } };

interface RuleDefinition<Data> extends Omit<Rule<Data>, "severity" | "about" | "example"> {
  example: string | Uint8Array | Rule<Data>["example"];
}

const ruleFactory =
  (severity: Severity, about: Rule<undefined>["about"] = "value") =>
  <Data = undefined>({ example, ...texts }: RuleDefinition<Data>): Rule<Data> => ({
    ...texts,
    severity,
    about,
    example: typeof example === "string" || example instanceof Uint8Array ? fileExample(example) : example,
  });

export const error = ruleFactory("error");
export const errorOfWhole = ruleFactory("error", "whole");
export const errorOfInput = ruleFactory("error", "input");

/** Defines a problem that `--strict` makes an error and `--allow` silences. */
export const warning = ruleFactory("warning");
export const warningOfWhole = ruleFactory("warning", "whole");

export const fileExample = (content: string | Uint8Array, how: Omit<ExampleInputs, "files"> = {}): ExampleInputs => ({
  files: { "step.jsonl": content },
  ...how,
});

export const problem = <Data>(data: Data, name?: string, line?: number): ExampleProblem<Data> => ({
  data,
  location: { ...(name === undefined ? {} : { file: name }), ...(line === undefined ? {} : { line }) },
});

export const question = '{"role":"user","content":"2+2?"}';
export const answer = '{"role":"assistant","content":"4"}';

export const toolCallMessage =
  '{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}';
export const toolResult = '{"role":"tool","tool_call_id":"a","content":"found"}';

export const trajectory = (reward: string | number, more = "", turns = `${question},${answer}`) =>
  `{"messages_and_choices":[${turns}],"reward":${reward}${more}}`;

export const messages = (...turns: readonly string[]) => trajectory(1, "", turns.join(","));
export const group = (...trajectories: readonly string[]) => `{"trajectories":[${trajectories.join(",")}]}`;
export const goodGroup = group(trajectory(0), trajectory(1));

export const tools = (name: string) => `,"tools":[{"type":"function","function":{"name":"${name}"}}]`;
export const choiceExample = (more = "") => `{"finish_reason":"stop","index":0,"message":${answer}${more}}`;

export const rewards = (last: number) =>
  Array.from({ length: 30 }, (_, at) => trajectory(at === 29 ? last : at % 2, `,"metadata":{"at":${at}}`)).join("\n");

/** Two groups, of which the second has other keys. */
export const differing = (more: string, others: string, turns?: string) =>
  [more, others].map((keys) => group(trajectory(0, keys, turns), trajectory(1, keys, turns))).join("\n");

export const versions = (...policyVersions: readonly number[]) =>
  policyVersions
    .map((version, at) =>
      group(trajectory(0, `,"final_policy_version":${version},"logs":["${at}"]`), trajectory(1, `,"logs":["${at}"]`)),
    )
    .join("\n");
