import { expect, it } from "vitest";
import { ruleNames } from "../../../src/rollouts/rules/rules.ts";
import {
  answer,
  choice,
  goodGroup,
  group,
  messages,
  problemsIn,
  question,
  type ReadOptions,
  toolCall,
  toolResult,
  trajectory,
} from "../../support/problems.ts";

const sampled = choice();
const says = (content: string) => choice("", `{"role":"assistant","content":${JSON.stringify(content)}}`);
const lines = (key: string, ...values: readonly string[]) =>
  values.map((value, at) => trajectory(at, `,"${key}":${value}`)).join("\n");
/** The parts are separate, so that this file contains no complete key. */
const key = ["sk", "proj", "Ab3dEfGh1JkLmN0pQrStUvWxYz"].join("-");

type Row = readonly [rules: string, input: Parameters<typeof problemsIn>[0], options?: ReadOptions];

/** Each row has the rules that its input breaks. */
const rows: readonly Row[] = [
  ["", goodGroup],
  ["", messages(question, sampled)],
  ["", `[${trajectory(0)},${trajectory(1)}]`],
  ["input-empty", ""],
  ["not-utf-8", Buffer.from(messages('{"role":"user","content":"caf\u00e9"}', sampled), "latin1")],
  ["", messages('{"role":"user","content":"caf\u00e9"}', sampled)],
  ["utf-16", Buffer.from(`\ufeff${goodGroup}`, "utf16le")],
  ["not-json", "PK\u0003\u0004"],
  ["json-not-finite", trajectory("NaN")],
  ["json-not-finite", trajectory("-Infinity")],
  ["", trajectory(0, ',"logs":["NaN","-Infinity","// step 17","it\'s"]')],
  ["json-syntax", trajectory(1, ',"metadata":{"solved":True}')],
  ["json-syntax", "{'messages_and_choices': [], 'reward': 1}"],
  ["json-syntax single-trajectory-group", `// step 17\n${trajectory(1)}`],
  ["json-truncated single-trajectory-group", `${trajectory(0)}\n${trajectory(1).slice(0, 60)}`],
  ["json-syntax", `${trajectory(0)} ${trajectory(1)}`],
  ["json-syntax", '{"messages_and_choices":[,],"reward":1}'],
  ["group-scattered single-trajectory-group", lines("group_id", '"a"', '"b"', '"a"')],
  ["", lines("group_id", '"a"', '"b"', '"a"', '"b"'), { groupBy: ["group_id"] }],
  ["ambiguous-group json-truncated", `${lines("group_id", '"a"', '"a"')}\n{"messages_and`],
  ["json-truncated single-trajectory-group", `${trajectory(0)}\n${trajectory(1)}\n{"group_id":"a","rew`],
  ["group-key-missing", `${lines("prompt_id", '"a"')}\n${trajectory(1)}`, { groupBy: ["prompt_id"] }],
  ["", `${lines("prompt_id", '["a"]')}\n${lines("metadata", '{"prompt_id":"a"}')}`, { groupBy: ["prompt_id"] }],
  ["split-mismatch", `{"split":"val","trajectory_groups":[${goodGroup}]}`, { split: "train" }],
  ["", `{"split":"train","trajectory_groups":[${goodGroup}]}`, { split: "train" }],
  [
    "input-empty request-key-mismatch",
    {
      "a.json": `{"split":"train","run":"a","trajectory_groups":[${goodGroup}]}`,
      "b.json": '{"split":"train","run":"b","trajectory_groups":[]}',
    },
  ],
  ["duplicate-trajectory mixed-shapes single-trajectory-group", `${goodGroup}\n${trajectory(1)}`],
  ["missing-field", `{"messages":[${question}],"reward":1}`],
  ["wrong-type", trajectory('"0.5"')],
  ["start-time-invalid", trajectory(1, ',"start_time":"yesterday"')],
  ["", trajectory(1, ',"start_time":"2024-02-29T23:59:60.5-08:00"')],
  ["not-an-object", JSON.stringify(trajectory(1))],
  ["duplicate-key", `{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`],
  ["", group(trajectory(0, ',"logs":["\\"trajectories\\""]'), trajectory(1))],
  ["element-type", trajectory(1, ',"tools":[{"function":{"name":"search"}}]')],
  ["", trajectory(1, ',"tools":[{"type":"function","function":{"name":"search"}}]')],
  ["empty-group", `${group()}\n${goodGroup}`],
  ["element-type", trajectory(1, ',"tools":null')],
  ["", trajectory(1, ',"tools":[],"info":null,"extra_info":null')],
  ["reward-not-finite", trajectory("1e400")],
  ["", trajectory("1e300")],
  ["metric-not-finite", trajectory(1, ',"metrics":{"loss":1e400}')],
  ["element-type", trajectory(1, ',"metrics":{"solved":"yes"}')],
  ["metric-name", trajectory(1, ',"metrics":{"reward":1}')],
  ["", trajectory(1, ',"metrics":{"loss":1e300,"solved":true,"rewards":1}')],
  ["element-type", trajectory(1, ',"metadata":{"task":{"id":3}}')],
  ["", trajectory(1, ',"metadata":{"task_id":3},"logs":["step 1"]')],
  ["element-type", trajectory(1, ',"logs":[{"step":1}]')],
  ["element-type", messages('"2+2?"', question, sampled)],
  ["missing-role", messages(question, '{"from":"human","value":"2+2?"}', sampled)],
  ["unknown-role", messages(question, '{"role":"human","content":"2+2?"}', sampled)],
  ["", messages('{"role":"developer","content":"Be short."}', question, sampled)],
  ["choice-role", messages(question, sampled.replace("assistant", "user"), sampled)],
  ["", messages(question, sampled, '{"finish_reason":"stop","index":0,"message":{"role":"assistant"}}')],
  ["missing-tool-call-id", messages(question, toolCall, '{"role":"tool","content":"a"}', sampled)],
  ["missing-tool-result", messages(question, toolCall, sampled)],
  ["", messages(question, toolCall, toolResult, sampled)],
  ["no-sampled-turns", messages(question, toolCall)],
  ["missing-tool-result no-sampled-turns", messages(question, toolCall, toolResult, toolCall)],
  ["element-type", messages(question, '{"role":"user","content":{"text":"2+2?"}}', sampled)],
  ["", messages('{"role":"user","content":[{"type":"text","text":"2+2?"}]}', sampled)],
  ["element-type", messages(question, '{"role":"assistant","content":"4","tool_calls":null}', sampled)],
  ["", messages(question, choice("", '{"role":"assistant","content":"4","tool_calls":null}'))],
  ["element-type", messages(question, choice("", '{"role":"assistant","content":"4","tool_calls":{}}'))],
  ["element-type", trajectory(1, ',"additional_histories":["2+2?"]')],
  ["", trajectory(1, `,"additional_histories":[{"messages_and_choices":[${question}]}]`)],
  ["zero-variance-group", group(trajectory(1), trajectory(1, ',"logs":["b"]'))],
  ["single-trajectory-group", `${goodGroup}\n${group(trajectory(1, ',"logs":["b"]'))}`],
  ["mixed-prompts", group(trajectory(0), trajectory(1, "", `{"role":"user","content":"3+3?"},${sampled}`))],
  ["", group(trajectory(0), trajectory(1, "", `{"content":"2\\u002b2?","role":"user"},${sampled}`))],
  ["mixed-steps", group(trajectory(0, ',"metadata":{"step":1}'), trajectory(1, ',"metadata":{"step":2}'))],
  ["", group(trajectory(0, ',"metadata":{"step":2}'), trajectory(1, ',"metadata":{"step":2}'))],
  ["chat-marks-in-content", messages(question, says("a<|im_end|>\n<|im_start|>user\nb"))],
  ["truncated-trajectory", messages(question, sampled.replace("stop", "length"))],
  ["", messages(question, sampled.replace("stop", "length"), sampled)],
  ["unknown-finish-reason", messages(question, sampled.replace("stop", "max_tokens"))],
  ["", messages(question, sampled.replace("stop", "function_call"))],
  ["no-prompt", messages(sampled, question)],
  ["no-assistant-turn", messages(question)],
  ["no-sampled-turns", messages(question, answer)],
  ["duplicate-trajectory", group(trajectory(0), trajectory(1), trajectory(0))],
  ["secret-in-content", messages(question, says(`export KEY=${key}`))],
  ["", messages(question, says("export KEY=sk-your-key-goes-here-0000"))],
];

it.for(rows)("the rules %s are reported for an input that breaks them (row %$)", async ([rules, input, options]) => {
  const problems = await problemsIn(input, options);
  expect([...new Set(problems.map(({ rule }) => rule))].sort().join(" ")).toBe(rules);
});

/** Rules about files, formats, requests and the ledger, which no line in rollcall's format breaks. */
const elsewhere = new Set(
  `file-not-found glob-without-match file-unreadable file-is-folder folder-without-rollouts decompressed-too-large too-many-records compressed-corrupt text-too-long record-invalid ambiguous-format unknown-format lossy-format skipped-file split-requests duplicate-rollout rollout-in-parts input-changed error-in-response refused-by-service group-refused duplicate-group unresolved-group group-not-logged logged-before logged-differently logged-in-other-groups unresolved-requests resend-impossible new-ledger group-changed incomplete-group incomplete-line`.split(
    /\s+/,
  ),
);

it("has a row for each rule that a line can break", () => {
  const fired = new Set(rows.flatMap(([rules]) => rules.split(" ")));
  expect(ruleNames.filter((name) => !fired.has(name) && !elsewhere.has(name))).toEqual([]);
});
