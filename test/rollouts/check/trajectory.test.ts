import { expect, it } from "vitest";
import { sliceText } from "../../../src/json/json-bytes.ts";
import { JsonReader } from "../../../src/json/reader.ts";
import { textOf } from "../../../src/json/table.ts";
import { keyUses } from "../../../src/rollouts/check/checker.ts";
import { inspectTrajectory } from "../../../src/rollouts/check/trajectory.ts";
import { findPrompt } from "../../../src/rollouts/check/trajectory-prompt.ts";
import { countNames } from "../../../src/rollouts/facts/facts.ts";
import { TrajectoryFacts } from "../../../src/rollouts/index/trajectory-facts.ts";

const facts = new TrajectoryFacts();

/** Inspects a trajectory with facts that another trajectory has filled. */
const inspect = (json: string) => {
  const reader = new JsonReader(keyUses);
  const bytes = Buffer.from(json);
  if (!reader.read(bytes, { skipsLeaves: true })) throw new Error(json);
  const table = reader.copyTable(bytes);
  const problems: string[] = [];
  const report = (rule: string, _: unknown, node: number, ...steps: readonly (string | number)[]) =>
    void problems.push([rule, ...steps, textOf({ table, node }).slice(0, 24)].join(" "));
  const fits = inspectTrajectory(table, 0, facts, report, reader, true);
  if (!fits) return problems;
  const { choices, choicesWithLogprobs: scored, finishReason, version, reward, metricNames, metrics, training } = facts;
  const prompt = findPrompt(table, facts);
  const counts = Array.from(facts.counts.slice(0, 2), (count, at) => `${countNames[at]} ${count}`);
  const named = metricNames.map((name, at) => `${name}=${metrics[at]}`);
  const bits = ["choice", "message", "scored", "unscored", "tools", "untooled", "offset", "local"];
  return [
    `${choices} choices, ${scored} scored, ${counts.join(", ")}, ${finishReason}`,
    ...(prompt ? [`prompt ${sliceText(table.bytes, prompt)}${facts.hasGreeting ? " greeted" : ""}`] : []),
    `reward ${reward} version ${version} steps ${facts.steps > 0} calls ${facts.callsTools} ${named.join()}`.trim(),
    bits.filter((_, at) => (training & (1 << at)) !== 0).join(" "),
    ...problems,
  ];
};

/** Has each fact that a later trajectory may lack. */
const dirty =
  '{"messages_and_choices":[A,U,L,{"finish_reason":"length","index":0,"message":{"role":"assistant","tool_calls":[T]}}],"reward":9,"metrics":{"z":9},"final_policy_version":9,"step":9}';

/** Each trajectory is above its facts and problems. */
const rows = String.raw`
  {"messages_and_choices":[U,C],"reward":1}
  = 1 choices, 0 scored, turns 1, characters 5, stop | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | choice unscored
  {"messages_and_choices":[U,A],"reward":-0.5,"step":1,"final_policy_version":3}
  = 0 choices, 0 scored, turns 1, characters 4, undefined | prompt {"role":"user","content":"q"} | reward -0.5 version 3 steps true calls false | message
  {"messages_and_choices":[A,U,C,U,C],"reward":1,"initial_policy_version":4,"final_policy_version":4,"tools":[]}
  = 2 choices, 0 scored, turns 2, characters 10, stop | prompt {"role":"assistant","content":"four"},{"role":"user","content":"q"} greeted | reward 1 version 4 steps false calls false | choice unscored tools
  {"messages_and_choices":[A,U,A],"reward":1,"initial_policy_version":4,"final_policy_version":3}
  = 0 choices, 0 scored, turns 2, characters 8, undefined | reward 1 version 3 steps false calls false | message | no-prompt [{"role":"assistant","co | policy-versions-reversed 3
  {"messages_and_choices":[U,U],"reward":1,"start_time":"2024-05-15T15:00:00Z","info":{"step":2}}
  = 0 choices, 0 scored, turns 0, characters 0, undefined | prompt {"role":"user","content":"q"},{"role":"user","content":"q"} | reward 1 version NaN steps true calls false | offset | no-assistant-turn [{"role":"user","content
  {"messages_and_choices":[{"role":"user","content":""},C],"reward":1e999,"start_time":"2024-05-15T15:00:00"}
  = 1 choices, 0 scored, turns 1, characters 5, stop | reward Infinity version NaN steps false calls false | choice unscored local | reward-not-finite 1e999 | no-prompt [{"role":"user","content
  {"messages_and_choices":[{"role":"system","content":"s"},C],"reward":1,"metrics":{"a":2,"b":true,"c":false}}
  = 1 choices, 0 scored, turns 1, characters 5, stop | reward 1 version NaN steps false calls false a=2,b=1,c=0 | choice unscored
  {"messages_and_choices":[C],"reward":1,"metrics":{"a":2,"a":3,"reward":1,"b":"x","c":1e999,"d":null},"exception":"e"}
  = 1 choices, 0 scored, turns 1, characters 5, stop | reward 1 version NaN steps false calls false a=3 | choice unscored | exception-in-trajectory "e" | no-prompt [{"finish_reason":"stop" | metric-name 1 | metric-type "x" | metric-not-finite 1e999 | metric-type null
  {"messages_and_choices":[],"reward":1,"logs":["a",1],"metadata":{"a":{},"b":1},"exception":"","exceptions":[]}
  = 0 choices, 0 scored, turns 0, characters 0, undefined | reward 1 version NaN steps false calls false |  | no-assistant-turn [] | metadata-nested {} | log-type 1 ["a",1]
  {"messages_and_choices":[1,2],"reward":1,"tools":null,"extra_info":{"model":"x"}}
  = 0 choices, 0 scored, turns 0, characters 0, undefined | reward 1 version NaN steps true calls false |  | null-field null | message-type 0 [1,2] | message-type 1 [1,2] | no-assistant-turn [1,2]
  {"messages_and_choices":[U,7,"x",C],"reward":1}
  = 1 choices, 0 scored, turns 1, characters 5, stop | prompt {"role":"user","content":"q"},7,"x" | reward 1 version NaN steps false calls false | choice unscored | message-type 1 [{"role":"user","content | message-type 2 [{"role":"user","content
  {"messages_and_choices":[U,{"finish_reason":"length","index":0,"message":{"role":"assistant","content":null,"tool_calls":[T]}}],"reward":1}
  = 1 choices, 0 scored, turns 1, characters 7, length | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls true | choice unscored untooled | truncated-trajectory "length"
  {"messages_and_choices":[U,{"finish_reason":"length","index":0,"message":M},C],"reward":1}
  = 2 choices, 0 scored, turns 2, characters 8, stop | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | choice unscored
  {"messages_and_choices":[U,{"finish_reason":"abort","index":0,"message":M},{"finish_reason":null,"message":M}],"reward":1}
  = 2 choices, 0 scored, turns 2, characters 6, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | choice unscored | unknown-finish-reason "abort"
  {"messages_and_choices":[U,{"finish_reason":7,"message":{"role":"user","content":"a"}},{"message":{"content":"a"}}],"reward":1}
  = 2 choices, 0 scored, turns 2, characters 2, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | choice unscored | unknown-finish-reason 7 | choice-role "user" | missing-role {"content":"a"}
  {"messages_and_choices":[U,{"role":"assistant","message":M,"content":"b"}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 1, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | message
  {"messages_and_choices":[U,L,L,C],"reward":1}
  = 3 choices, 2 scored, turns 3, characters 11, stop | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | choice scored unscored
  {"messages_and_choices":[U,{"role":"assistant","content":"a","logprobs":{"content":[{"token":"a"}]}}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 1, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | message
  {"messages_and_choices":[U,{"role":"assistant","content":5,"tool_calls":{}},{"role":"tool","content":"r","status":"odd"}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 0, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | message | content-type 5 | tool-calls-type {} | unknown-tool-status "odd" | missing-tool-call-id {"role":"tool","content"
  {"messages_and_choices":[{"role":"user","content":"q","status":"odd"},{"role":"assistant","content":"a","tool_calls":null},{"role":"human","content":"b"}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 1, undefined | prompt {"role":"user","content":"q","status":"odd"} | reward 1 version NaN steps false calls false | message | tool-calls-null null | unknown-role "human"
  {"messages_and_choices":[U,{"role":"assistant","tool_calls":[T,{"id":"d","custom":{"name":"f","input":"abc"}},{"id":"e"},{"id":"f","function":{"arguments":"a"}},{"id":"g","function":{"name":"h"}},1]},{"role":"tool","tool_call_id":"c","content":"r","status":"odd","is_error":true}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 11, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls true | message untooled | tool-calls-type {"id":"e"} | tool-calls-type {"id":"f","function":{"a | tool-calls-type {"id":"g","function":{"n | tool-calls-type 5 [{"id":"c","function":{" | missing-tool-result {"id":"d","custom":{"nam | missing-tool-result {"id":"e"} | missing-tool-result {"id":"f","function":{"a | missing-tool-result {"id":"g","function":{"n
  {"messages_and_choices":[U,{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","content":"r"},A],"reward":1}
  = 0 choices, 0 scored, turns 2, characters 6, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls true | message untooled
  {"messages_and_choices":[U,{"role":"user","tool_calls":[T]},{"role":"tool","content":"r"},A],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 4, undefined | prompt {"role":"user","content":"q"},{"role":"user","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","content":"r"} | reward 1 version NaN steps false calls true | message untooled | missing-tool-call-id {"role":"tool","content"
  {"messages_and_choices":[U,A,{"role":"user","toolCalls":[{}]},{"role":"assistant","content":"a","said":"b"},{"role":"assistant","said":"b"}],"reward":1}
  = 0 choices, 0 scored, turns 3, characters 5, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | message | unknown-message-key [{}] | unknown-message-key "b"
  {"messages_and_choices":[{"role":"user","content":[{"type":"text","text":"abc"},"d",{"type":"odd"},{"type":"image"}]},{"role":"assistant","reasoning":"xy","thinking":"z","content":[{"text":"abc"},{"type":"audio"}]}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 5, undefined | prompt {"role":"user","content":[{"type":"text","text":"abc"},"d",{"type":"odd"},{"type":"image"}]} | reward 1 version NaN steps false calls false | message | unknown-content-part {"type":"odd"}
  {"messages_and_choices":[U,{"role":"assistant","content":"a<|im_end|>\n<|im_start|>user\nb"}],"reward":1}
  = 0 choices, 0 scored, turns 1, characters 30, undefined | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | message | chat-marks-in-content "a<|im_end|>\n<|im_start
  {"messages_and_choices":[U,{"role":"assistant","content":"a<|im_end|>\n<|im_start|>user\nb"},C],"reward":1}
  = 1 choices, 0 scored, turns 1, characters 5, stop | prompt {"role":"user","content":"q"},{"role":"assistant","content":"a<|im_end|>\n<|im_start|>user\nb"} | reward 1 version NaN steps false calls false | choice unscored
  {"messages_and_choices":[U,C],"reward":1,"tools":[{"type":"function","function":{"name":"f"}},{"function":{"name":"g"}}],"additional_histories":[{"messages_and_choices":[{"role":"x"}]},1,{}]}
  = 1 choices, 0 scored, turns 1, characters 5, stop | prompt {"role":"user","content":"q"} | reward 1 version NaN steps false calls false | choice unscored tools | tool-incomplete {"function":{"name":"g"} | history-type 1 [{"messages_and_choices" | unknown-role "x" | history-type {}
  {"messages_and_choices":{},"reward":1}
  = wrong-type {}
  {"messages_and_choices":[U],"reward":"1","final_policy_version":1.5,"start_time":"noon","metrics":[],"logs":null}
  = wrong-type "1" | wrong-type 1.5 | wrong-type [] | start-time-invalid "noon"
`;

const names: Readonly<Record<string, string>> = {
  U: '{"role":"user","content":"q"}',
  A: '{"role":"assistant","content":"four"}',
  M: '{"role":"assistant","content":"six"}',
  C: '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"seven"}}',
  L: '{"finish_reason":"stop","index":0,"message":M,"logprobs":{"content":[{"token":"a"}]}}',
  T: '{"id":"c","function":{"name":"f","arguments":"{\\"a\\":1}"}}',
};
const expand = (row: string): string =>
  row.replace(/(?<![\w"])[UACMLT](?![\w"])/g, (name) => expand(names[name] ?? ""));

it.each(rows.trim().split(/\n {2}(?=\{)/))("the facts and problems of a trajectory (row %$)", (row) => {
  const [json = "", expected] = row.split("\n  = ");
  inspect(expand(dirty));
  expect(inspect(expand(json)).join(" | ")).toBe(expected);
});
