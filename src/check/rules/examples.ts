/** Texts of trajectories and groups for the examples of rules. */

export const question = '{"role":"user","content":"2+2?"}';
export const answer = '{"role":"assistant","content":"4"}';

export const toolCallMessage =
  '{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}';
export const toolResult = '{"role":"tool","tool_call_id":"a","content":"found"}';

export const trajectory = (reward: string | number, more = "", turns = `${question},${answer}`): string =>
  `{"messages_and_choices":[${turns}],"reward":${reward}${more}}`;

export const messages = (...turns: readonly string[]): string => trajectory(1, "", turns.join(","));
export const group = (...trajectories: readonly string[]): string => `{"trajectories":[${trajectories.join(",")}]}`;
export const goodGroup = group(trajectory(0), trajectory(1));
