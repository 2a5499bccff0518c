/** Which turns of a record are choices, and what they say, by format. */
import { describe } from "vitest";
import { itTells, type Row } from "./converting.ts";
import {
  agent,
  asks,
  atif,
  call,
  chat,
  example,
  generated,
  gym,
  harness,
  inspect,
  miniSwe,
  said,
  sample,
  simulation,
  trace,
  trl,
  turn,
  user,
  verl,
} from "./records.ts";

const system = { role: "system", content: "s" };
const calling = said("", { tool_calls: [call("c")] });

const used = { ...user(" "), tool_calls: [call("c")] };
const tool = (requestor: string) => ({ role: "tool", id: "c", requestor, content: "r", error: true });
const history = [user("q"), { ...calling, content: "h" }, { role: "tool", id: "c", content: "r" }];
const later = [...history, user("r"), said("a")];
const ofTask = (message_history: readonly object[]) => ({ id: "1", initial_state: { message_history } });
const results = (more: object) => ({ info: { agent_info: {} }, simulations: [simulation(later)], ...more });
const scripted = "kept the turns of the task's message_history as messages, because no model sampled them";
const ended = { termination_reason: "user_stop" };

itTells("a simulation of tau2-bench with %s", [
  ["an answer to a user", [simulation([system, user("q"), said("a")])], "(s:s u:q A:a) =1"],
  ["a greeting that no model sampled", [simulation([said("hi"), user("q"), said("a")])], "(a:hi u:q A:a) =1"],
  ["a greeting after a prompt", [simulation([system, said("hi"), user("q"), said("a")])], "(s:s a:hi u:q A:a) =1"],
  ["a call as its first turn", [simulation([calling, tool("assistant"), said("a")])], "(A→f t:r! A:a) =1"],
  ["a sampled greeting", [simulation([said("hi", { raw_data: { choices: [] } }), user("q")])], "(A:hi u:q) =1"],
  ["a user's call", [simulation([user("q"), used, tool("user"), said("a")])], "(u:q A:a) =1"],
  ["a user's call with a text", [simulation([{ ...user("q"), tool_calls: [call("c")] }, said("a")])], "(u:q A:a) =1"],
  ["a user's empty text", [simulation([user(""), said("a")])], "(u A:a) =1"],
  [
    "results",
    [simulation([user("q"), calling, { role: "tool", tool_messages: [tool("assistant")] }])],
    "(u:q A→f t:r!) =1",
  ],
  ["a turn without a role", [simulation([{ content: "q" }])], "a message has no role"],
  [
    "its finish reason without its message",
    [simulation([user("q"), said("a", { raw_data: { choices: [{ finish_reason: "length" }] } })])],
    "(u:q A:a.length) =1",
  ],
  ...[turn("a", "length"), { choices: [turn("a", "length")] }].map(
    (raw_data): Row => ["a reply", [simulation([user("q"), said("a", { raw_data })])], "(u:q A:a.length) =1"],
  ),
  ["turns of its task", [results({ tasks: [ofTask(history)] })], `(u:q a:h→f t:r u:r A:a) =1 & ${scripted}`],
  ["no turns of its task", [results({ tasks: [ofTask([])] })], `(u:q A:h→f t:r u:r A:a) =1 & no:${scripted}`],
  ["no task", [results({})], "(u:q A:h→f t:r u:r A:a) =1"],
  [
    "its task in NeMo Gym",
    [gym([], { task: ofTask(history), result: { ...ended, messages: later } })],
    "(u:q u:q a:h→f t:r u:r A:a) =1",
  ],
]);

const unnamed = { content: "r" };
const calls = ["c", "d"].map((tool_call_id) => ({ tool_call_id, function_name: "f", arguments: {} }));
const answered = (...list: readonly object[]) => agent("a", { tool_calls: calls, observation: { results: list } });
const edited = "the agent summarized or edited its context";
const told = (message: string) => atif([{ source: "system", message }, asks("q"), agent("a")]);
const started = (timestamp: string) => atif([asks("q", { timestamp }), agent("a", { timestamp: "2027-01-01" })]);
const reasoned = (extra: object) => atif([asks("q"), agent("a", { extra })]);
const parts = [
  { type: "audio", source: { path: "p" } },
  { type: "image", source: { path: "i" } },
];

itTells("a document of ATIF with %s", [
  ["each source", [atif([{ source: "system", message: "s" }, asks("q"), agent("a")])], "(s:s u:q A:a) =1"],
  ["a copied turn", [atif([agent("b", { is_copied_context: true }), agent("a")])], "(a:b A:a) =1"],
  ["a turn without a call of the model", [atif([agent("b", { llm_call_count: 0 }), agent("a")])], "(a:b A:a) =1"],
  ["results with and without ids", [atif([answered({ source_call_id: "c", ...unnamed }, unnamed)])], "t:r t:r) =1"],
  ["results without ids", [atif([answered(unnamed, unnamed)])], "(A:a→f→f t:r t:r) =1"],
  ["fewer results than calls", [atif([answered(unnamed)])], "(A:a→f→f u:r) =1"],
  ["a result of an empty id", [atif([answered({ ...unnamed, source_call_id: "" })])], "(A:a→f→f u:r) =1"],
  ["more results than calls", [atif([answered(unnamed, unnamed, unnamed)])], "(A:a→f→f u:r u:r u:r) =1"],
  ["an empty result", [atif([agent("a", { observation: { results: [{}] } })])], "(A:a) =1"],
  ["only calls", [atif([{ source: "agent", tool_calls: calls }])], '(A→f→f) =1 & "content":null'],
  ["a user's observation", [atif([{ source: "user", observation: { results: [unnamed] } }, agent("a")])], "(u:r A:a)"],
  ["a system's observation", [atif([{ source: "system", observation: { results: [unnamed] } }])], "(u:r) =1"],
  ["only an observation", [atif([{ source: "agent", observation: { results: [] } }])], "message is missing"],
  ["an empty step", [atif([{ source: "user" }])], "message is missing"],
  ["an unknown source", [atif([{ source: "tool", message: "m" }])], "source is not system, user or agent"],
  ["no step", [atif([])], "steps is empty"],
  ["a number as a step", [atif([1])], "a step is not an object"],
  ["a number as a message", [atif([agent(1)])], "the content is neither text nor a list of parts"],
  ["a newer version", [atif(undefined, { schema_version: "ATIF-v1.8" })], "read ATIF-v1.8 as ATIF-v1.7"],
  [
    "parts that are no images",
    [atif([asks(parts)])],
    '[{"type":"audio","source":{"path":"p"}},{"type":"image_url","image_url":{"url":"i"}}] & kept parts of the type audio',
  ],
  ["an image without a source", [atif([asks([{ type: "image" }])])], '"content":[{"type":"image"}]'],
  ["a system prompt", [told("You are an agent.")], `no:${edited}`],
  ["a summary of the history", [told("Summarized the history.")], edited],
  ["a compacted context", [told("The CONTEXT was compacted.")], edited],
  ["a condensed conversation", [told("Condensed this conversation")], edited],
  ["a user's summary", [atif([asks("Summarize the history."), agent("a")])], `no:${edited}`],
  ["a summary of a file", [told("Summarized the file.")], `no:${edited}`],
  ["1,999 characters", [told("summarized history".padEnd(1999))], edited],
  ["2,000 characters", [told("summarized history".padEnd(2000))], `no:${edited}`],
  ["an edit", [atif([asks("q"), agent("a", { extra: { context_management: {} } })])], edited],
  ["an edit at the top", [atif([asks("q"), agent("a", { context_management: {} })])], edited],
  ["an edit in a result", [atif([answered({ ...unnamed, context_management: {} })])], edited],
  ["a model that only turns name", [atif([asks("q"), agent("a", { model_name: "n" })])], `no:${edited}`],
  ...["", ".25+01:00", "-0500", "Z"].map((end): Row => {
    const time = `2026-01-01T00:00:00${end}`;
    return [`the start ${time}`, [started(time)], `"start_time":"${time}"`];
  }),
  ["a start without T", [started("2026-01-01 00:00:00")], "(u:q A:a) =1 & no:start_time"],
  ["a day as its start", [started("2026-01-01")], "(u:q A:a) =1 & no:start_time"],
  ["the reason max_tokens", [reasoned({ stop_reason: "max_tokens" })], "(u:q A:a.length) =1"],
  ["the reason end_turn", [reasoned({ stop_reason: "end_turn" })], "(u:q A:a) =1"],
  ["the reason tool_use", [reasoned({ stop_reason: "tool_use" })], "(u:q A:a.tool_calls) =1"],
  ["the reason null", [reasoned({ stop_reason: null })], "(u:q A:a) =1"],
  ["a refusal", [reasoned({ finish_reason: "refusal" })], "(u:q A:a.refusal) =1"],
]);

// Written after Harbor's `agents/installed/*.py` and `agents/terminus_2/terminus_2.py`.
describe("a document of ATIF that Harbor wrote", () => {
  const asked = (name: string, output: string, more: object = {}) => ({
    tool_calls: [{ tool_call_id: name, function_name: name, arguments: {} }],
    observation: { results: [{ source_call_id: name, content: output }] },
    ...more,
  });
  const of = (name: string, steps: readonly object[]) => [
    atif(steps, { schema_version: "ATIF-v1.7", agent: { name, version: "1", model_name: "m" } }),
  ];

  const side = { extra: { is_sidechain: true } };
  const main = { extra: { is_sidechain: false } };
  const [prompt, read, end] = [
    asks("p", side),
    agent("", { ...side, model_name: "m", ...asked("Read", "c") }),
    agent("r", { ...side, model_name: "m" }),
  ];
  const claude = (...steps: readonly object[]) =>
    of("claude-code", [asks("q", main), agent("", { ...main, ...asked("Task", "r") }), ...steps, agent("b", main)]);
  const helped = "u:p A→Read t:c A:r";
  const others = [prompt, read, end].map((one) => ({ ...one, model_name: "n" }));
  const failed = (extra: object, ofStep: object = {}) => {
    const observation = { results: [{ source_call_id: "Bash", content: "x: not found", extra }] };
    return of("claude-code", [agent("", { ...asked("Bash", ""), observation, extra: ofStep })]);
  };

  const logprobs = { metrics: { completion_token_ids: [1], logprobs: [-0.5] } };
  const parsed = asked("bash_command", "o", logprobs);
  const composed = "took the text that Harbor composed of an answer";
  const several =
    "made one choice of each step of several calls of the model (llm_call_count), because it has one text";
  const kept = "kept the turns of other models than the agent's as messages";
  const unnamedModel =
    "converted the turns of several models to choices, because none of them is the model of the agent";
  const codex = of("codex", [
    agent("I look.", { reasoning_content: "why" }),
    ...["c", "d"].map((name) => agent("", asked(name, "r"))),
    agent("done"),
  ]);

  itTells("with %s", [
    ["a subagent of its model", claude(prompt, read, end), `(u:q A→Task t:r A:b / ${helped}) =1`],
    ["a subagent of another model", claude(...others), "(u:q A→Task t:r A:b / u:p a→Read t:c a:r) =1"],
    [
      "subagents that two callers' steps separate",
      claude(prompt, read, end, agent("a", main), prompt, read, end),
      `(u:q A→Task t:r A:a A:b / ${helped} / ${helped}) =1`,
    ],
    ["several subagents at once", claude(asks("o", side), prompt, read, end), "/ u:o u:p a→Read t:c a:r) =1"],
    ["a subagent without a start", claude(read, end), "A:b / a→Read t:c a:r) =1"],
    [
      "turns of a subagent alone",
      of("claude-code", [agent("b", side), agent("a")]),
      '"additional_histories":[{"messages_and_choices":[{"role":"assistant","content":"b"}]}]',
    ],
    ["log probabilities", of("terminus-2", [agent("a", logprobs)]), '"logprobs":{"content":[{"token":"token_id:1"'],
    [
      "no tokens",
      of("terminus-2", [agent("a", { metrics: { completion_token_ids: [], logprobs: [] } })]),
      '(A:a) =1 & no:logprobs":{',
    ],
    ["parsed commands", of("terminus-2", [agent("Analysis: a\nPlan: b", parsed)]), composed],
    [
      "raw content",
      of("terminus-2", [agent('{"analysis": "a"}', { observation: parsed.observation })]),
      `no:${composed}`,
    ],
    ["texts for its screen", of("openhands", [agent("All done!", asked("finish", "o"))]), composed],
    ["raw commands", of("openhands", [agent("<execute_bash>ls</execute_bash>", logprobs)]), `no:${composed}`],
    ["calls", of("another", [agent("a", parsed)]), `(A:a→bash_command t:o) =1 & no:${composed}`],
    [
      "errors of the API",
      of("claude-code", [agent("API Error", { model_name: "<synthetic>" }), agent("a", { model_name: "m" })]),
      "(a:API Error A:a) =1",
    ],
    [
      "another model than the agent's",
      of("a", [agent("b", { model_name: "m" }), agent("b", { model_name: "n" }), agent("b")]),
      `(A:b a:b A:b) =1 & ${kept}`,
    ],
    [
      "one model in another spelling",
      of("a", [agent("b", { model_name: "p/m" }), agent("b", { model_name: "p/m" })]),
      "(A:b A:b) =1 & no:models",
    ],
    [
      "several models, none of which is the agent's",
      of("a", [agent("b", { model_name: "x" }), agent("b", { model_name: "y" })]),
      `(A:b A:b) =1 & ${unnamedModel}`,
    ],
    ["several calls", of("a", [agent("b", { llm_call_count: 4 })]), `(A:b) =1 & ${several}`],
    ["text parts", of("a", [agent([{ type: "text", text: "b" }])]), '(A) =1 & "content":[{"type":"text","text":"b"}]'],
    [
      "other parts",
      of("a", [agent([{ type: "audio", source: {} }])]),
      "(A) =1 & kept parts of the type audio as they are",
    ],
    [
      "steps of Codex, of which each call is one",
      codex,
      "(A~why:I look. A→c t:r A→d t:r A:done) =1 & each call of Codex is a turn",
    ],
    ["a placeholder of OpenCode", of("opencode", [agent("(tool use)", asked("bash", "a"))]), '"content":null'],
    ["another text", of("opencode", [agent("(tool use).", asked("bash", "a"))]), '"content":"(tool use)."'],
    [
      "a text that is also the reasoning",
      of("mini-swe-agent", [agent("THOUGHT: look.", { reasoning_content: "THOUGHT: look.", ...asked("bash", "a") })]),
      "(A:THOUGHT: look.→bash t:a) =1",
    ],
    [
      "a text and other reasoning",
      of("mini-swe-agent", [agent("THOUGHT: look.", { reasoning_content: "I want to.", ...asked("bash", "a") })]),
      "(A~I want to.:THOUGHT: look.→bash t:a) =1",
    ],
    ["an error", failed({ tool_result_is_error: true }), '"is_error":true'],
    ["no error", failed({ tool_result_is_error: false }), '"is_error":false'],
    ["an error of an older version", failed({}, { tool_result_is_error: true }), '"is_error":true'],
    ["no error mark", failed({}), "t:x: not found) =1 & no:is_error"],
  ]);
});

const command = "\n```bash\nls\n```";
const response = { choices: [turn("a")] };
const typed = (api_calls: number, answer: object) =>
  miniSwe([user("q"), answer, said(command)], { info: { submission: "d", model_stats: { api_calls } } });
const failure = (result: object) => [miniSwe([user("q"), calling, { ...result, extra: { exception_info: "no" } }])];
const reply = { output: [{ type: "message", ...said("a") }] };
const output = { type: "function_call_output", call_id: "c", output: "" };

itTells("a file of mini-swe-agent with %s", [
  ["a typed command", [typed(2, said("a", { extra: { response } }))], `(u:q A:a a:${command}) =1`],
  ["a command after the last call", [typed(1, said("a"))], `(u:q A:a a:${command}) =1`],
  ["a sampled command", [typed(2, said("a"))], `(u:q A:a A:${command}) =1`],
  ["an output of a tool that could not run", failure(output), "t!) =1"],
  ["a message of a tool that could not run", failure({ role: "tool", tool_call_id: "c", content: "" }), "t!) =1"],
  ["a user's message with an exception", failure(user("")), "(u:q A→f u) =1"],
  ["an empty exception", [miniSwe([{ ...output, extra: { exception_info: "" } }])], "(t) =1"],
  ["a response as a message", [miniSwe([user("q"), { object: "response", ...reply }])], "(u:q A:a) =1"],
  ["a response of a message", [miniSwe([user("q"), said("z", { extra: { response: reply } })])], "(u:q A:a) =1"],
  ["parts", [miniSwe([{ type: "message", role: "user", content: [{ text: "b" }] }])], "(u:b) =1"],
]);

const event = (id: string, more: object = {}) => ({
  ...{ event: "model", output: { choices: [{ message: said("a", { id }), stop_reason: "max_tokens" }] } },
  ...more,
});
const ofEvent = (message: object, ...events: readonly object[]) => [
  inspect([sample({ messages: [user("q"), said("a", message)], events })]),
];
const asking = (more: object) => [inspect([sample({ messages: [user("q"), said("", { ...generated, ...more })] })])];
const attached = `attachment://${"0123456789abcdef".repeat(2)}`;
const withAttachment = (message: object) => {
  const attachments = { [attached.slice(13)]: "why" };
  return [inspect([sample({ messages: [said("", { source: "generate", ...message })], attachments })])];
};
const context =
  "the agent summarized or edited its context, so later turns follow messages that the model no longer saw";
const after = (more: object, own: object) => [
  inspect([sample({ messages: [...sample().messages, { ...user("s"), ...more }], events: [own] })]),
];
const ofTool = (more: object) => [
  inspect([sample({ messages: [{ role: "tool", content: "", tool_call_id: "c", ...more }] })]),
];
const thoughts = [
  { type: "reasoning", reasoning: "r" },
  { type: "reasoning", reasoning: "encrypted", redacted: true, summary: "s" },
  { type: "reasoning", redacted: true },
  { type: "text", text: "b" },
];

itTells("a sample of Inspect with %s", [
  ["a generated turn", [inspect([sample()])], "(u:q A:a) =1"],
  ["a turn of an event", ofEvent({ id: "m" }, event("m")), "(u:q A:a.length) =1"],
  ["a turn of a subtask", ofEvent({ id: "m" }, { event: "subtask", events: [event("m")] }), "(u:q A:a.length) =1"],
  ["a turn that no event has", ofEvent({ id: "n" }, event("m")), "(u:q a:a) =1"],
  ["a turn without an id and a source", ofEvent({}, event("m")), "(u:q a:a) =1"],
  ["another event's output", ofEvent({ id: "m" }, event("m", { event: "score" })), "(u:q a:a) =1"],
  ["reasoning in its content", asking({ content: thoughts }), "(u:q A~r\ns:b) =1"],
  ["older reasoning", asking({ content: [{ type: "text", text: "b" }], reasoning: "s" }), "(u:q A~s:b) =1"],
  ["a call without arguments", asking({ tool_calls: [{ function: { name: "f" } }] }), '"name":"f","arguments":"{}"'],
  ["a call by name", asking({ tool_calls: [{ function: "f", arguments: "{}" }] }), '"name":"f","arguments":"{}"'],
  ["a type of a call", asking({ tool_calls: [{ id: "c", function: "f", type: "custom" }] }), '"type":"custom"'],
  ["attached reasoning", withAttachment({ content: [{ type: "reasoning", reasoning: attached }] }), "(A~why) =1"],
  [
    "attached arguments",
    withAttachment({
      tool_calls: [{ function: "f", arguments: { a: attached, b: [attached.replace("attachment", "tc")] } }],
    }),
    String.raw`"arguments":"{\"a\":\"why\",\"b\":[\"why\"]}"`,
  ],
  ["audio", asking({ content: [{ type: "audio", audio: "a.wav" }] }), '"content":[{"type":"audio","audio":"a.wav"}]'],
  [
    "null",
    [inspect([sample({ messages: [{ ...user("q"), name: null }, generated] })])],
    '[{"role":"user","content":"q"},',
  ],
  ["an older error of a tool", ofTool({ tool_error: "old" }), "(t:old!)"],
  ["an error of a tool", ofTool({ error: { message: "new" }, tool_error: "old" }), "(t:new!)"],
  ["an error after a result", ofTool({ content: "cut", error: { type: "limit", message: "too long" } }), "(t:cut!)"],
  ["no error of a tool", ofTool({ error: null }), "(t) =1"],
  ["a compaction", after({}, { event: "compaction", type: "edit" }), context],
  ["a summary", after({ metadata: { summary: true } }, { event: "info" }), context],
  ["another summary", after({ metadata: { summary: "s" } }, { event: "info" }), `(u:q A:a u:s) =1 & no:${context}`],
]);

const node = (parent: number, message: object, more: object = {}) => ({ parent, sampled: true, message, ...more });
const compacting = (type: string) =>
  trace({
    nodes: [
      { message: user("q") },
      node(0, said("brief"), { semantic_parents: [{ type: "compaction_attempt", node: 0 }] }),
      { message: user("brief"), semantic_parents: [{ type, node: 1 }] },
      node(2, said("a")),
    ],
  });
const ids = { prompt_token_ids: [0], generation_token_ids: [0], generation_log_probs: [0] };
const item = (text: string, more: object = {}) => said([{ type: "output_text", text }], more);
const reasons = [
  { type: "reasoning_text", text: "b" },
  { type: "summary_text", text: "c" },
];
const saying = (...more: readonly object[]) => [
  gym([{ type: "message", ...said([{ type: "output_text", text: "a" }, ...more]) }]),
];
const attempts = ["q", "again"].map((input) => ({ input: { input } }));
const repeats = { r: [1, 0], resps: [["a", "b"]], filtered_resps: ["a", "b"], finish_reason: ["stop", "length"] };
const file = [{ type: "input_file", file_id: "F" }, { type: "x" }];

itTells("a rollout with %s", [
  ["a compaction of prime-rl that continues", [compacting("compaction")], "(u:brief A:a / u:q A:brief) =1"],
  ["a compaction of prime-rl that does not", [compacting("other")], "(u:brief A:a / u:q a:brief) =1"],
  ["the reason of a call of a trace", [trace({ calls: [{ node: 1, finish_reason: "abort" }] })], "(u:q A:a.abort) =1"],
  [
    "no token ids",
    [trace({ nodes: [{ message: user("q") }, node(0, said("a"), { logprobs: [-1] })] })],
    "(u:q A:a) =1",
  ],
  ["reasons of several responses", [harness(repeats)], "(u:q A:a) =1 (u:q A:b.length) =0"],
  ["an unfiltered response", [harness({ resps: [["b"]] })], "(u:q A:b) =1"],
  ["a response that is no text", [harness({ resps: [[3]] })], "a response is not text"],
  ["a system prompt of verl", [verl({ system_prompt: "s", reward: 0.25 })], "(u:q A:a) =0.25"],
  ["a text in HTML", [trl({ completion: "<s>3</s>" })], "(u:q A:<s>3</s>) =1"],
  ...["system", "system_prompt", "system_message"].map(
    (key): Row => [key, [trl({ [key]: "s" })], `left \`${key}\` out of the prompts`],
  ),
  [
    "a longer prompt",
    ["x\ny", "x\ny\nz"].map((prompt, at) => trl({ prompt, completion: at === 0 ? "" : "a" })),
    "A:a) =1",
  ],
  ...["prompt_too_long", "max_turns_reached"].map((stop_condition): Row => {
    const finish = stop_condition === "max_turns_reached" ? ".length" : "";
    return [stop_condition, [example({ is_truncated: true, stop_condition })], `(u:q A:a${finish}) =1`];
  }),
  ["reasons of more turns", [chat({ finish_reason: ["stop", "length"] })], "(u:q A:a.length) =1"],
  [
    "other reasons of a turn and its row",
    [{ messages: [user("q"), said("a", { finish_reason: "length" })], finish_reason: "content_filter", reward: 1 }],
    '(u:q A:a.length) =1 & "metadata":{"finish_reason":"content_filter"}',
  ],
  [
    "a placeholder with token ids, which alone is a failure",
    [gym([item("a"), item("", ids)]), gym([item("", ids)]), gym([item("late", ids)])],
    "(u:q A:a) =1 !no_turns: no message is recorded !no_turns: late",
  ],
  [
    "an answer",
    [gym([item("0", { ...ids, generation_token_ids: [0, 1], generation_log_probs: [0, -1] })])],
    "(u:q A:0) =1",
  ],
  [
    "a later attempt with another prompt",
    [gym([item("a")], { all_attempts: attempts })],
    "(u:again A:a) =1 & left out an earlier attempt with another prompt",
  ],
  [
    "the reasoning of an item instead of its summary",
    [gym([{ type: "reasoning", content: [{ text: "r" }], summary: [{ text: "s" }] }, said("a")])],
    "(u:q A~r:a) =1",
  ],
  ["transitions", [gym([[{}]])], "transitions are not supported"],
  [
    "a cut response",
    [gym([], { response: { object: "response", status: "incomplete", ...reply } })],
    "(u:q A:a.incomplete) =1",
  ],
  ["a failed run with an answer", [gym(undefined, { exception_type: "E" })], "(u:q A:a) =1"],
  ["reasoning and a summary", saying(...reasons), "(u:q A~b\nc:a) =1"],
  ["a refusal", saying({ type: "refusal", refusal: "b" }), '"content":"a","refusal":"b"'],
  ["audio", saying({ type: "output_audio", transcript: "b" }), "left out a part of type output_audio"],
  [
    "reasoning after a call",
    [
      gym([
        { type: "reasoning", generation_token_ids: [1], generation_log_probs: [-1], content: [{ text: "b" }] },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { type: "reasoning", content: [{ text: "d" }] },
        ...reply.output,
      ]),
    ],
    "(u:q A~b→f A~d:a) =1",
  ],
  ["a system message of a run", [gym([], { result: { ...ended, messages: [system] } })], "s:s) =1"],
  [
    "a run after its input",
    [gym([], { responses_create_params: { input: [user("yes")] }, result: { ...ended, messages: [user("no")] } })],
    "(u:yes u:no) =1",
  ],
  [
    "the agent's messages of a run",
    [gym([], { result: { ...ended, messages: [user("no")], agent_messages: [user("yes")] } })],
    "u:yes) =1",
  ],
  [
    "files of its input",
    [gym([], { responses_create_params: { input: [user(file)] } })],
    '{"type":"file","file":{"file_id":"F"}},{"type":"x"}',
  ],
]);
