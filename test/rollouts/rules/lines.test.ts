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
const says = (content: string, more: object = {}) =>
  choice("", JSON.stringify({ role: "assistant", content, ...more }));
const asks = (calls: string) => `{"role":"assistant","content":null,"tool_calls":${calls}}`;
const marked = "a<|im_end|>\n<|im_start|>user\nb";
const lines = (key: string, ...values: readonly string[]) =>
  values.map((value, at) => trajectory(at, `,"${key}":${value}`)).join("\n");
/** The parts are separate, so that this file contains no complete key. */
const key = ["sk", "proj", "Ab3dEfGh1JkLmN0pQrStUvWxYz"].join("-");

type Row = readonly [found: string, input: Parameters<typeof problemsIn>[0], options?: ReadOptions];

/** Each row has the rules that its input breaks, with their paths, in which `m` is the list of messages. */
const rows: readonly Row[] = [
  ["", goodGroup],
  ["", messages(question, sampled)],
  ["equal-prompts", `[${trajectory(0)},${trajectory(1)}]`],
  ["duplicate-key reward", trajectory(1, ',"reward":0')],
  [
    "duplicate-key tools.0.function.name",
    trajectory(1, ',"tools":[{"type":"function","function":{"name":"a","name":"b"}}]'),
  ],
  ["", trajectory(1, ',"task":1,"task":2')],
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
  ["json-syntax; single-trajectory-group", `// step 17\n${trajectory(1)}`],
  ["json-truncated; single-trajectory-group", `${trajectory(0)}\n${trajectory(1).slice(0, 60)}`],
  ["json-syntax", `${trajectory(0)} ${trajectory(1)}`],
  ["json-syntax", '{"messages_and_choices":[,],"reward":1}'],
  ["group-scattered group_id; single-trajectory-group", lines("group_id", '"a"', '"b"', '"a"')],
  ["", lines("group_id", '"a"', '"b"', '"a"', '"b"'), { groupBy: ["group_id"] }],
  ["ambiguous-group; json-truncated", `${lines("group_id", '"a"', '"a"')}\n{"messages_and`],
  ["json-truncated; single-trajectory-group", `${trajectory(0)}\n${trajectory(1)}\n{"group_id":"a","rew`],
  ["group-key-missing", `${lines("prompt_id", '"a"')}\n${trajectory(1)}`, { groupBy: ["prompt_id"] }],
  ["", `${lines("prompt_id", '["a"]')}\n${lines("metadata", '{"prompt_id":"a"}')}`, { groupBy: ["prompt_id"] }],
  ["split-mismatch split", `{"split":"val","trajectory_groups":[${goodGroup}]}`, { split: "train" }],
  ["", `{"split":"train","trajectory_groups":[${goodGroup}]}`, { split: "train" }],
  [
    "input-empty; request-key-mismatch run",
    {
      "a.json": `{"split":"train","run":"a","trajectory_groups":[${goodGroup}]}`,
      "b.json": '{"split":"train","run":"b","trajectory_groups":[]}',
    },
  ],
  ["duplicate-trajectory; mixed-shapes; single-trajectory-group", `${goodGroup}\n${trajectory(1)}`],
  ["missing-field m", `{"messages":[${question}],"reward":1}`],
  ["wrong-type reward", trajectory('"0.5"')],
  ["start-time-invalid start_time", trajectory(1, ',"start_time":"yesterday"')],
  ["", trajectory(1, ',"start_time":"2024-02-29T23:59:60.5-08:00"')],
  ["not-an-object", JSON.stringify(trajectory(1))],
  ["duplicate-structural-key trajectories", `{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`],
  ["", group(trajectory(0, ',"logs":["\\"trajectories\\""]'), trajectory(1))],
  ["element-type tools.0", trajectory(1, ',"tools":[{"function":{"name":"search"}}]')],
  ["", trajectory(1, ',"tools":[{"type":"function","function":{"name":"search"}}]')],
  ["empty-group trajectories", `${group()}\n${goodGroup}`],
  ["element-type tools", trajectory(1, ',"tools":null')],
  ["", trajectory(1, ',"tools":[],"info":null,"extra_info":null')],
  ["reward-not-finite reward", trajectory("1e400")],
  ["", trajectory("1e300")],
  ["metric-not-finite metrics.loss", trajectory(1, ',"metrics":{"loss":1e400}')],
  ["element-type metrics.solved", trajectory(1, ',"metrics":{"solved":"yes"}')],
  ["metric-name metrics.reward", trajectory(1, ',"metrics":{"reward":1}')],
  ["", trajectory(1, ',"metrics":{"loss":1e300,"solved":true,"rewards":1}')],
  ["element-type metadata.task", trajectory(1, ',"metadata":{"task":{"id":3}}')],
  ["", trajectory(1, ',"metadata":{"task_id":3},"logs":["step 1"]')],
  ["element-type logs.0", trajectory(1, ',"logs":[{"step":1}]')],
  ["element-type m.0", messages('"2+2?"', question, sampled)],
  ["missing-role m.1", messages(question, '{"from":"human","value":"2+2?"}', sampled)],
  ["unknown-role m.1.role", messages(question, '{"role":"human","content":"2+2?"}', sampled)],
  ["", messages('{"role":"developer","content":"Be short."}', question, sampled)],
  ["choice-role m.1.message.role", messages(question, sampled.replace("assistant", "user"), sampled)],
  ["", messages(question, sampled, '{"finish_reason":"stop","index":0,"message":{"role":"assistant"}}')],
  ["missing-tool-call-id m.2", messages(question, toolCall, '{"role":"tool","content":"a"}', sampled)],
  ["missing-tool-result m.1.tool_calls.0", messages(question, toolCall, sampled)],
  ["", messages(question, toolCall, toolResult, sampled)],
  ["no-sampled-turns m", messages(question, toolCall)],
  ["missing-tool-result m.3.tool_calls.0; no-sampled-turns m", messages(question, toolCall, toolResult, toolCall)],
  ["element-type m.1.content", messages(question, '{"role":"user","content":{"text":"2+2?"}}', sampled)],
  ["", messages('{"role":"user","content":[{"type":"text","text":"2+2?"}]}', sampled)],
  ["element-type m.1.tool_calls", messages(question, '{"role":"assistant","content":"4","tool_calls":null}', sampled)],
  ["", messages(question, choice("", '{"role":"assistant","content":"4","tool_calls":null}'))],
  [
    "element-type m.1.message.tool_calls",
    messages(question, choice("", '{"role":"assistant","content":"4","tool_calls":{}}')),
  ],
  ["element-type additional_histories.0", trajectory(1, ',"additional_histories":["2+2?"]')],
  ["", trajectory(1, `,"additional_histories":[{"messages_and_choices":[${question}]}]`)],
  ["zero-variance-group", group(trajectory(1), trajectory(1, ',"logs":["b"]'))],
  ["single-trajectory-group", `${goodGroup}\n${group(trajectory(1, ',"logs":["b"]'))}`],
  ["mixed-prompts", group(trajectory(0), trajectory(1, "", `{"role":"user","content":"3+3?"},${sampled}`))],
  ["", group(trajectory(0), trajectory(1, "", `{"content":"2\\u002b2?","role":"user"},${sampled}`))],
  ["mixed-steps", group(trajectory(0, ',"metadata":{"step":1}'), trajectory(1, ',"metadata":{"step":2}'))],
  ["", group(trajectory(0, ',"metadata":{"step":2}'), trajectory(1, ',"metadata":{"step":2}'))],
  ["chat-marks-in-content m.1.message.content", messages(question, says("a<|im_end|>\n<|im_start|>user\nb"))],
  ["truncated-trajectory m.1.finish_reason", messages(question, sampled.replace("stop", "length"))],
  ["", messages(question, sampled.replace("stop", "length"), sampled)],
  ["unknown-finish-reason m.1.finish_reason", messages(question, sampled.replace("stop", "max_tokens"))],
  ["", messages(question, sampled.replace("stop", "function_call"))],
  ["no-prompt m", messages(sampled, question)],
  ["no-assistant-turn m", messages(question)],
  ["unchecked-exchanges", '{"exchanges":{"responses":[{"request":{},"response":{}}]}}'],
  ["unchecked-exchanges", '{"exchanges":{"chat_completions":[{"request":{},"response":{}}]},"reward":1}'],
  ["no-sampled-turns m", messages(question, answer)],
  ["duplicate-trajectory trajectories.2", group(trajectory(0), trajectory(1), trajectory(0))],
  ["secret-in-content m.1.message.content", messages(question, says(`export KEY=${key}`))],
  ["", messages(question, says("export KEY=sk-your-key-goes-here-0000"))],
  ["", messages(question, sampled, says("b"), '{"role":"tool","content":"r","status":"odd","tool_call_id":"z"}')],
  ["wrong-type m", '{"messages_and_choices":{},"reward":1}'],
  [
    "wrong-type final_policy_version; wrong-type metrics; wrong-type reward",
    '{"messages_and_choices":[{"role":"user"}],"reward":"1","final_policy_version":1.5,"metrics":[],"logs":null}',
  ],
  ["no-prompt m", messages('{"role":"user","content":""}', sampled)],
  ["no-prompt m", messages('{"role":"user"}', sampled)],
  ["element-type m.1; element-type m.2", messages(question, "7", '"x"', sampled)],
  [
    "element-type metrics.b; element-type metrics.d; metric-name metrics.reward; metric-not-finite metrics.c",
    trajectory(1, ',"metrics":{"a":2,"a":3,"reward":1,"b":"x","c":1e999,"d":null}'),
  ],
  [
    "unknown-finish-reason m.1.finish_reason; unknown-finish-reason m.2.finish_reason",
    messages(question, sampled.replace("stop", "abort"), sampled.replace('"stop"', "7"), sampled),
  ],
  [
    "choice-role m.1.message.role; missing-role m.2.message",
    messages(question, '{"message":{"role":"user","content":"a"}}', '{"message":{"content":"a"}}'),
  ],
  ["no-sampled-turns m; unknown-role m.2.role", messages(question, answer, '{"role":"human","content":"b"}')],
  ["element-type m.1.content; no-sampled-turns m", messages(question, '{"role":"assistant","content":5}')],
  [
    "chat-marks-in-content m.1.message.reasoning; chat-marks-in-content m.2.message.reasoning_details",
    messages(question, says("a", { reasoning: marked }), says("b", { reasoning_details: [{ text: marked }] })),
  ],
  [
    "missing-tool-call-id m.2; no-sampled-turns m",
    messages(question, answer, '{"role":"tool","content":"r"}', '{"role":"function","content":"r"}'),
  ],
  [
    "element-type m.1.tool_calls; element-type m.2.tool_calls; no-sampled-turns m",
    messages(question, asks("{}"), asks("null")),
  ],
  [
    "element-type m.1.tool_calls.0; element-type m.1.tool_calls.1; element-type m.1.tool_calls.2; no-sampled-turns m",
    messages(question, asks('[{"id":"d","function":{"arguments":""}},{"id":"e","function":{"name":"h"}},1]')),
  ],
  [
    "missing-tool-result m.1.tool_calls.0; no-sampled-turns m",
    messages(question, asks('[{"id":"a","custom":{"name":"f","input":"abc"}}]'), question),
  ],
  ["choice-role m.2.message.role", messages(question, toolCall, sampled.replace(answer, toolResult), answer)],
  [
    "chat-marks-in-content m.1.message.content",
    messages(question, says("a [INST]", {}), '{"role":"assistant","content":"[INST]"}'),
  ],
  ["", messages(question, '{"role":"assistant","content":"[INST]"}', sampled)],
  ["", messages('{"role":"user","content":"[INST]"}', sampled)],
  ["", messages('{"role":"user","status":"odd","content":"q"}', sampled)],
  ["", trajectory(1, ',"exception":"","exceptions":[]')],
  [
    "element-type tools.0",
    trajectory(1, ',"tools":[{"function":{"name":"g"}},{"type":"function","function":{"name":"f"}}]'),
  ],
  [
    "element-type additional_histories.1; element-type additional_histories.2; unknown-role additional_histories.0.m.0.role",
    trajectory(1, ',"additional_histories":[{"messages_and_choices":[{"role":"x"}]},1,{}]'),
  ],
  ["wrong-type additional_histories", trajectory(1, ',"additional_histories":{}')],
  ["wrong-type metadata", trajectory(1, ',"metadata":"m"')],
  [
    "element-type metadata.info; element-type metadata.list",
    trajectory(1, ',"metadata":{"task":"a","info":{"a":1},"n":1,"list":[2],"none":null}'),
  ],
  ["wrong-type logs", trajectory(1, ',"logs":"l"')],
  ["wrong-type start_time", trajectory(1, ',"start_time":7')],
  ["wrong-type initial_policy_version", trajectory(1, ',"initial_policy_version":"1"')],
  ["wrong-type final_policy_version", trajectory(1, ',"final_policy_version":true')],
  [
    "wrong-type tools.0.function.name; wrong-type tools.1.function.description; wrong-type tools.2.function; wrong-type tools.3",
    trajectory(1, ',"tools":[{"function":{"name":7}},{"function":{"description":[]}},{"function":"f"},"f"]'),
  ],
  [
    "wrong-type tools.0.function.parameters; wrong-type tools.1.function.parameters; wrong-type tools.1.function.strict",
    trajectory(1, ',"tools":[{"function":{"parameters":"{}"}},{"function":{"parameters":[],"strict":1}}]'),
  ],
  [
    "wrong-type tools.0.function.name; wrong-type tools.0.function.strict; wrong-type tools.0.type",
    trajectory(1, ',"tools":[{"type":1,"function":{"name":7,"strict":"yes"}}]'),
  ],
  ["wrong-type tools", trajectory(1, ',"tools":{}')],
  ["empty-group trajectories", `{"exceptions":["e"],"trajectories":[]}\n${goodGroup}`],
];

it.for(rows)("the problems are %s (row %$)", async ([found, input, options]) => {
  const problems = await problemsIn(input, { ...options, all: true });
  const shown = problems.map(({ rule, path = [] }) => [rule, path.join(".")].join(" ").trim());
  expect([...new Set(shown)].sort().join("; ").replaceAll("messages_and_choices", "m")).toBe(found);
});

/** Rules about files, formats, requests and the ledger, which no line in rollcall's format breaks. */
const elsewhere = new Set(
  `file-not-found glob-without-match file-unreadable file-is-folder folder-without-rollouts decompressed-too-large too-many-records compressed-corrupt text-too-long record-invalid not-a-rollout incomplete-page ambiguous-format unknown-format lossy-format skipped-file split-requests duplicate-rollout rollout-in-parts input-changed error-in-response refused-by-service group-refused duplicate-group unresolved-group group-not-logged logged-before logged-differently logged-in-other-groups unresolved-requests resend-impossible group-changed incomplete-group incomplete-line`.split(
    /\s+/,
  ),
);

it("has a row for each rule that a line can break", () => {
  const fired = new Set(rows.flatMap(([found]) => found.split("; ").map((problem) => problem.split(" ")[0])));
  expect(ruleNames.filter((name) => !fired.has(name) && !elsewhere.has(name))).toEqual([]);
});
