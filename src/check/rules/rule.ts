/** What a rule is: one record of what it says and advises, why it is a rule, and an example; and the pieces of examples. */
import type { Severity } from "../../failure.ts";

/** A rule: what it says is made of `Data`. */
export interface Rule<Data> {
  readonly severity: Severity;
  readonly message: (data: Data) => string;
  /** What it says without anything that stood in the file; undefined if its words have nothing of it. */
  readonly redactedMessage: string | undefined;
  readonly advice: (data: Data) => string;
  /** Why it is a rule, in a sentence or two. */
  readonly why: string;
  /** What it is about: a value; a group or trajectory as a whole, so no value is shown; an input, which no rejected group fixes. */
  readonly about: "value" | "whole" | "input";
  readonly example: ExampleInputs | ExampleProblem<Data>;
}

/** Inputs that break a rule, and how they are read. */
export interface ExampleInputs {
  /** Contents of files, by the names that they are given; undefined is a name without a file. */
  readonly files: Readonly<Record<string, string | Uint8Array | undefined>>;
  readonly split?: string;
  readonly groupBy?: string;
  /** Contents of a file of another split. */
  readonly against?: string;
}

/** The data of a problem, and its position, if no text alone breaks the rule: files, requests, answers, the ledger. */
export interface ExampleProblem<Data> {
  readonly said: Data;
  readonly location: { readonly file?: string; readonly line?: number };
}

/** A rule as it is written down. `quiet` is left out if its words are made of counts, types and the interface's names alone. */
interface RuleDefinition<Data> {
  readonly message: string | ((data: Data) => string);
  readonly redactedMessage?: string;
  readonly advice: string | ((data: Data) => string);
  readonly why: string;
  /** A text is the content of the one file. */
  readonly example: string | Uint8Array | ExampleInputs | ExampleProblem<Data>;
}

const ruleFactory =
  (severity: Severity, about: Rule<undefined>["about"] = "value") =>
  <Data = undefined>({
    message: says,
    redactedMessage: quiet,
    advice,
    why,
    example,
  }: RuleDefinition<Data>): Rule<Data> => ({
    severity,
    message: typeof says === "string" ? () => says : says,
    redactedMessage: quiet,
    advice: typeof advice === "string" ? () => advice : advice,
    why,
    about,
    example: typeof example === "string" || example instanceof Uint8Array ? fileExample(example) : example,
  });

/** A rule that can't be silenced. */
export const error = ruleFactory("error");
export const errorOfGroup = ruleFactory("error", "whole");
export const errorOfInput = ruleFactory("error", "input");

/** A rule that `--strict` makes an error, and `--allow` silences. */
export const warning = ruleFactory("warning");
export const warningOfGroup = ruleFactory("warning", "whole");

/** A file of the content, and how it is read. */
export const fileExample = (content: string | Uint8Array, how: Omit<ExampleInputs, "files"> = {}): ExampleInputs => ({
  files: { "step.jsonl": content },
  ...how,
});

/** The data of a problem, and its position. */
export const problemExample = <Data>(data: Data, name?: string, line?: number): ExampleProblem<Data> => ({
  said: data,
  location: { ...(name === undefined ? {} : { file: name }), ...(line === undefined ? {} : { line }) },
});

/** A message of each side. */
export const question = '{"role":"user","content":"2+2?"}';
export const answer = '{"role":"assistant","content":"4"}';

/** A message that calls a tool, and its result. */
export const toolCallMessage =
  '{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}';
export const toolResult = '{"role":"tool","tool_call_id":"a","content":"found"}';

/** A trajectory; `more` are further members. */
export const trajectory = (reward: string | number, more = "", turns = `${question},${answer}`): string =>
  `{"messages_and_choices":[${turns}],"reward":${reward}${more}}`;

export const messages = (...all: readonly string[]): string => trajectory(1, "", all.join(","));

/** A group of trajectories; one that breaks no rule. */
export const group = (...trajectories: readonly string[]): string => `{"trajectories":[${trajectories.join(",")}]}`;
export const goodGroup = group(trajectory(0), trajectory(1));
