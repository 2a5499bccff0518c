/** What the examples of rules are made of: short trajectories and groups as text. */
import type { Inputs } from "./rule.ts";

/** A file of the content. */
export const file = (content: string | Uint8Array): Inputs => ({ files: { "step.jsonl": content } });

/** A message of each side. */
export const question = '{"role":"user","content":"2+2?"}';
export const answer = '{"role":"assistant","content":"4"}';

/** A trajectory; `more` are further members. */
export const trajectory = (reward: string | number, more = "", messages = `${question},${answer}`): string =>
  `{"messages_and_choices":[${messages}],"reward":${reward}${more}}`;

/** A trajectory of the messages. */
export const messages = (...all: readonly string[]): string => trajectory(1, "", all.join(","));

/** A group of trajectories. */
export const group = (...trajectories: readonly string[]): string => `{"trajectories":[${trajectories.join(",")}]}`;

/** A group that breaks no rule. */
export const goodGroup = group(trajectory(0), trajectory(1));

/** A file that breaks no rule. */
export const good = file(goodGroup);

/** A message that calls a tool, and its result. */
export const called =
  '{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}';
export const result = '{"role":"tool","tool_call_id":"a","content":"found"}';

interface Pair {
  readonly fires: Inputs;
  readonly passes: Inputs;
}

/** A file that breaks a rule, and one that nearly does. */
export const withContent = (fires: string | Uint8Array, passes: string | Uint8Array): Pair => ({
  fires: file(fires),
  passes: file(passes),
});

/** The same of a trajectory with further members. */
export const withMembers = (fires: string, passes: string): Pair =>
  withContent(trajectory(1, fires), trajectory(1, passes));

/** What a rule says, and where, if no text alone breaks it. */
export const said = <Data>(data: Data, where: { readonly file: string; readonly line?: number }) => ({
  said: data,
  where,
});
