/** Which turns of a record are choices, by format. Capitals are choices. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { convertHere, folderOf, notesHere, showTurns, turnsHere, user } from "./converting.ts";

const said = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const system = { role: "system", content: "s" };
const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });

/** The arguments with a reward for the id `s`. */
const rewarded = () => ["--rewards", join(folderOf({ r: '{"id":"s","reward":1}' }), "r")];

describe("a simulation of tau2-bench", () => {
  const tool = (requestor: string) => ({ role: "tool", id: "c", requestor, content: "r", error: true });
  const calling = said("", { tool_calls: [call("c")] });

  it.each<[string, readonly object[], string]>([
    ["an answer to a user", [system, user("q"), said("a")], "s u A"],
    ["a greeting that no model sampled", [said("hi"), user("q"), said("a")], "a u A"],
    ["a greeting after a system prompt", [system, said("hi"), user("q"), said("a")], "s a u A"],
    ["a call as its first turn", [calling, tool("assistant"), said("a")], "A t A"],
    ["a sampled greeting", [said("hi", { raw_data: { choices: [] } }), user("q")], "A u"],
    ["a user's call", [user("q"), { ...user(" "), tool_calls: [call("c")] }, tool("user"), said("a")], "u A"],
    ["a user's call with a text", [{ ...user("q"), tool_calls: [call("c")] }, said("a")], "u A"],
    ["a user's empty text", [user(""), said("a")], "u A"],
    ["several results", [user("q"), calling, { role: "tool", tool_messages: [tool("assistant")] }], "u A t"],
    ["a turn without a role", [{ content: "q" }], "a message has no role"],
  ])("with %s has the turns in their order", async (_, messages, turns) => {
    const simulation = { task_id: 1, termination_reason: "user_stop", reward_info: { reward: 1 }, messages };
    expect(await turnsHere({ "a.json": JSON.stringify(simulation) })).toContain(turns);
  });
});

it("turns of tau2-bench that its task scripted are messages, with a note", async () => {
  const [asked, scripted, again, sampled] = [user("q"), said("b"), user("r"), said("a")];
  const simulation = { task_id: 1, termination_reason: "user_stop", reward_info: { reward: 1 } };
  const results = {
    info: { agent_info: {} },
    tasks: [{ id: "1", initial_state: { message_history: [asked, scripted] } }],
    simulations: [{ ...simulation, messages: [asked, scripted, again, sampled] }],
  };
  expect(await turnsHere({ "results.json": JSON.stringify(results) })).toBe("u a u A");
  expect(await notesHere(JSON.stringify(results))).toContain(
    "kept the turns of the task's message_history as messages, because no model sampled them",
  );
});

describe("a document of ATIF", () => {
  const agent = (more: object = {}) => ({ source: "agent", message: "a", ...more });
  const calls = ["c", "d"].map((tool_call_id) => ({ tool_call_id, function_name: "f", arguments: {} }));
  const results = (...list: readonly object[]) => ({ tool_calls: calls, observation: { results: list } });
  const unnamed = { content: "r" };

  it.each<[string, readonly unknown[], string]>([
    ["each source", ["system", "user", "agent"].map((source) => ({ source, message: "m" })), "s u A"],
    ["a copied turn", [agent({ is_copied_context: true }), agent({ is_copied_context: false })], "a A"],
    ["a turn without a call of the model", [agent({ llm_call_count: 0 }), agent({ llm_call_count: 1 })], "a A"],
    ["results with and without ids", [agent(results({ source_call_id: "c", content: "r" }, unnamed))], "A t t"],
    ["results without ids", [agent(results(unnamed, unnamed))], "A t t"],
    ["fewer results than calls", [agent(results(unnamed))], "A u"],
    ["fewer results than calls, with an empty id", [agent(results({ ...unnamed, source_call_id: "" }))], "A u"],
    ["more results than calls", [agent(results(unnamed, unnamed, unnamed))], "A u u u"],
    ["an empty result", [agent({ observation: { results: [{}] } })], "A"],
    ["only calls", [{ source: "agent", tool_calls: calls }], "A"],
    ["only a user's observation", [{ source: "user", observation: { results: [unnamed] } }, agent()], "u A"],
    ["only an agent's observation", [{ source: "agent", observation: { results: [] } }], "message is missing"],
    ["an empty step", [{ source: "user" }], "message is missing"],
    ["an unknown source", [{ source: "tool", message: "m" }], "source is not system, user or agent"],
    ["no step", [], "steps is empty"],
    ["a number as a step", [1], "a step is not an object"],
    ["a number as a message", [agent({ message: 1 })], "the content is neither text nor a list of parts"],
  ])("with %s has the turns in their order", async (_, steps, turns) => {
    const text = JSON.stringify({ schema_version: "ATIF-v1.6", session_id: "s", steps });
    expect(await turnsHere({ "a.json": text }, rewarded())).toContain(turns);
  });

  const edited = "the agent summarized or edited its context";
  it.each<[string, object, boolean]>([
    ["a system prompt", { source: "system", message: "You are an agent." }, false],
    ["a summary of the history", { source: "system", message: "Summarized the history." }, true],
    ["a compacted context", { source: "system", message: "The CONTEXT was compacted." }, true],
    ["a condensed conversation", { source: "system", message: "Condensed this conversation" }, true],
    ["a user's summary", { source: "user", message: "Summarize the history." }, false],
    ["a summary of a file", { source: "system", message: "Summarized the file." }, false],
    ["1,999 characters", { source: "system", message: "summarized history".padEnd(1999) }, true],
    ["2,000 characters", { source: "system", message: "summarized history".padEnd(2000) }, false],
    ["an edit", { source: "agent", message: "a", extra: { context_management: {} } }, true],
    ["a model that only its turns name", agent({ model_name: "n" }), false],
    ["an edit in a result", agent({ observation: { results: [{ context_management: {} }] } }), true],
  ])("with %s notes only an edited context", async (_, step, isNoted) => {
    const steps = [step, { source: "user", message: "q" }, agent()];
    const notes = await notesHere(JSON.stringify({ schema_version: "ATIF-v1.6", session_id: "s", steps }), rewarded());
    expect(notes.map((note) => note.slice(0, edited.length))).toEqual(isNoted ? [edited] : []);
  });

  it.each([
    ["2026-01-01T00:00:00Z", true],
    ["2026-01-01T00:00:00.25+01:00", true],
    ["2026-01-01T00:00:00-0500", true],
    ["2026-01-01T00:00:00", true],
    ["2026-01-01 00:00:00", false],
    ["2026-01-01", false],
  ])("starts at the time %s of its first step if it is complete", async (timestamp, isTime) => {
    const steps = [{ source: "user", message: "q", timestamp }, agent({ timestamp: "2027-01-01T00:00:00Z" })];
    const text = JSON.stringify({ schema_version: "ATIF-v1.6", session_id: "s", steps });
    const [group] = await convertHere({ "a.json": text }, rewarded());
    expect(group.trajectories[0].start_time).toBe(isTime ? timestamp : undefined);
  });
});

// Written after Harbor's `agents/installed/*.py` and `agents/terminus_2/terminus_2.py`.
describe("a document of ATIF that Harbor wrote", () => {
  const step = (source: string, message: string, more: object = {}) => ({ source, message, ...more });
  const asked = (name: string, output: string, more: object = {}) => ({
    tool_calls: [{ tool_call_id: name, function_name: name, arguments: {} }],
    observation: { results: [{ source_call_id: name, content: output }] },
    ...more,
  });
  const documentOf = (name: string, steps: readonly object[]) =>
    JSON.stringify({
      schema_version: "ATIF-v1.7",
      session_id: "s",
      agent: { name, version: "1", model_name: "m" },
      steps,
    });

  /** Shows the turns of each conversation of a trajectory, such as `u A t / u a`. */
  const conversationsOf = async (name: string, steps: readonly object[]): Promise<string> => {
    const [{ trajectories }] = await convertHere({ "a.json": documentOf(name, steps) }, rewarded());
    const [{ messages_and_choices, additional_histories: others = [] }] = trajectories;
    return [{ messages_and_choices }, ...others].map((one) => showTurns(one.messages_and_choices)).join(" / ");
  };

  const side = (source: string, message: string, more: object = {}) =>
    step(source, message, { extra: { is_sidechain: true }, ...(source === "agent" && { model_name: "m" }), ...more });
  const main = (source: string, message: string, more: object = {}) =>
    step(source, message, { extra: { is_sidechain: false }, ...more });
  const [start, end] = [[main("user", "q"), main("agent", "", asked("Task", "r"))], main("agent", "b")];
  const helper = [side("user", "p"), side("agent", "", asked("Read", "c")), side("agent", "r")];

  it.each<[string, readonly object[], string]>([
    ["of the same model are choices", helper, "u A t A / u A t A"],
    ["of another model are messages", helper.map((one) => ({ ...one, model_name: "n" })), "u A t A / u a t a"],
    ["that two callers' steps separate", [...helper, main("agent", "a"), ...helper], "u A t A A / u A t A / u A t A"],
    ["of several agents at once are messages", [side("user", "o"), ...helper], "u A t A / u u a t a"],
    ["without a start are messages", helper.slice(1), "u A t A / a t a"],
  ])("has the turns of Claude Code's subagents as histories: turns %s", async (_, steps, turns) => {
    expect(await conversationsOf("claude-code", [...start, ...steps, end])).toBe(turns);
  });

  const turnsOf = async (name: string, steps: readonly object[]) =>
    (await convertHere({ "a.json": documentOf(name, steps) }, rewarded()))[0].trajectories[0].messages_and_choices;

  it.each([
    [{ stop_reason: "max_tokens" }, "length"],
    [{ stop_reason: "end_turn" }, "stop"],
    [{ stop_reason: "tool_use" }, "tool_calls"],
    [{ stop_reason: null }, "stop"],
    [{ finish_reason: "refusal" }, "refusal"],
  ])("has the finish reason of %j", async (extra, finish_reason) => {
    expect(await turnsOf("claude-code", [step("user", "q"), step("agent", "a", { extra })])).toEqual([
      user("q"),
      { finish_reason, index: 0, message: said("a") },
    ]);
  });

  it.each<[string, number[], number[], object]>([
    ["an answer without tokens and log probabilities", [], [], {}],
    ["an answer with the log probabilities of its tokens", [1], [-0.5], { logprobs: { content: [{ logprob: -0.5 }] } }],
  ])("has %s", async (_, completion_token_ids, logprobs, more) => {
    const steps = [step("agent", "a", { metrics: { completion_token_ids, logprobs } })];
    const [turn] = await turnsOf("terminus-2", steps);
    expect([Object.keys(turn), turn]).toEqual([
      ["finish_reason", "index", "message", ...Object.keys(more)],
      expect.objectContaining({ finish_reason: "stop" }),
    ]);
    expect(turn).toMatchObject(more);
  });

  const logprobs = { metrics: { completion_token_ids: [1], logprobs: [-0.5] } };
  const parsed = asked("bash_command", "o", logprobs);
  it.each<[name: string, text: string, steps: readonly object[], isNoted: boolean]>([
    ["terminus-2", "parsed commands", [step("agent", "Analysis: a\nPlan: b", parsed)], true],
    ["terminus-2", "raw content", [step("agent", '{"analysis": "a"}', { observation: parsed.observation })], false],
    ["openhands", "texts for its screen", [step("agent", "All done!", asked("finish", "o"))], true],
    ["openhands", "raw content", [step("agent", "<execute_bash>ls</execute_bash>", logprobs)], false],
    ["another", "calls", [step("agent", "a", parsed)], false],
  ])(
    "of the agent %s with %s has choices, and a note if Harbor composed their text",
    async (name, _, steps, isNoted) => {
      expect(await conversationsOf(name, steps)).toMatch(/^A( t)?$/);
      const notes = await notesHere(documentOf(name, steps), rewarded());
      expect(notes.some((note) => note.startsWith("took the text that Harbor composed of an answer"))).toBe(isNoted);
    },
  );

  it("has messages for the errors of the API that Claude Code wrote as turns", async () => {
    const steps = [step("agent", "API Error", { model_name: "<synthetic>" }), step("agent", "a", { model_name: "m" })];
    expect(await conversationsOf("claude-code", steps)).toBe("a A");
  });

  const severalCalls =
    "made one choice of each step of several calls of the model (llm_call_count), because it has one text";
  it.each<[string, object[], string, string[]]>([
    [
      "another model than the agent's as messages",
      [{ model_name: "m" }, { model_name: "n" }, {}],
      "A a A",
      ["kept the turns of other models than the agent's as messages"],
    ],
    ["one model in another spelling as choices", [{ model_name: "p/m" }, { model_name: "p/m" }], "A A", []],
    [
      "several models, none of which is the agent's, as choices",
      [{ model_name: "x" }, { model_name: "y" }],
      "A A",
      ["converted the turns of several models to choices, because none of them is the model of the agent"],
    ],
    ["several calls as choices", [{ llm_call_count: 4 }], "A", [severalCalls]],
    ["text parts as choices", [{ message: [{ type: "text", text: "b" }] }], "A", []],
    ["no call as messages", [{ llm_call_count: 0 }, {}], "a A", []],
    [
      "other parts as they are",
      [{ message: [{ type: "audio", source: {} }] }],
      "A",
      ["kept parts of the type audio as they are"],
    ],
  ])("has the turns of %s, with a note", async (_, steps, turns, notes) => {
    const own = steps.map((more) => step("agent", "b", more));
    expect(await conversationsOf("a", own)).toBe(turns);
    expect(await notesHere(documentOf("a", own), rewarded())).toEqual(notes);
  });

  const callOf = (id: string) => ({ id, type: "function", function: { name: id, arguments: "{}" } });

  it("of Codex has the text of an answer and its first call in one choice, and notes that calls are turns", async () => {
    const steps = [
      step("agent", "I look.", { reasoning_content: "why" }),
      ...["c", "d"].map((name) => step("agent", "", asked(name, "r"))),
      step("agent", "done"),
    ];
    const result = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "r" });
    const first = said("I look.", { reasoning_content: "why", tool_calls: [callOf("c")] });
    expect(await turnsOf("codex", steps)).toEqual([
      { finish_reason: "tool_calls", index: 0, message: first },
      result("c"),
      { finish_reason: "tool_calls", index: 0, message: said("", { tool_calls: [callOf("d")] }) },
      result("d"),
      { finish_reason: "stop", index: 0, message: said("done") },
    ]);
    expect(await notesHere(documentOf("codex", steps), rewarded())).toEqual([
      "each call of Codex is a turn, although the model can have made several calls at once",
      "joined the text and the first call of an answer, because Harbor made two steps of it",
    ]);
  });

  it.each<[string, object, object]>([
    ["call of another request", {}, { llm_call_count: 1 }],
    ["text of another request", { llm_call_count: 1 }, {}],
    ["call with its own tokens", {}, { metrics: { completion_tokens: 1 } }],
    ["result of the text", { observation: { results: [] } }, {}],
    ["step without a text", { message: "" }, {}],
  ])("keeps a text and the next call as two choices if there is a %s", async (_, text, more) => {
    expect(await conversationsOf("a", [step("agent", "b", text), step("agent", "", asked("c", "r", more))])).toBe(
      "A A t",
    );
  });

  it.each([
    ["(tool use)", null],
    ["(tool use).", "(tool use)."],
  ])("of OpenCode has no text instead of a placeholder: %s", async (message, content) => {
    const [{ message: said }] = await turnsOf("opencode", [step("agent", message, asked("bash", "a"))]);
    expect(said.content).toBe(content);
  });

  it.each([
    ["THOUGHT: I look.", undefined],
    ["I want to look.", "I want to look."],
  ])("of mini-swe-agent has the text of a turn only once: %s", async (reasoning_content, expected) => {
    const steps = [step("agent", "THOUGHT: I look.", { reasoning_content, ...asked("bash", "a") })];
    const [{ message }] = await turnsOf("mini-swe-agent", steps);
    expect([message.content, message.reasoning_content]).toEqual(["THOUGHT: I look.", expected]);
  });

  it.each<[string, object, object, boolean | undefined]>([
    ["its result", { tool_result_is_error: true }, {}, true],
    ["its result", { tool_result_is_error: false }, {}, false],
    ["a step of an older version", {}, { tool_result_is_error: true }, true],
    ["none", {}, {}, undefined],
  ])("has the error mark of %s", async (_, extra, ofStep, is_error) => {
    const observation = { results: [{ source_call_id: "Bash", content: "x: not found", extra }] };
    const turns = await turnsOf("claude-code", [
      step("agent", "", { ...asked("Bash", ""), observation, extra: ofStep }),
    ]);
    expect(turns[1]).toEqual({ role: "tool", tool_call_id: "Bash", content: "x: not found", is_error });
  });
});

it.each<[string, object, boolean | undefined]>([
  ["a call's output", { type: "function_call_output", call_id: "c", output: "" }, true],
  ["a tool's message", { role: "tool", tool_call_id: "c", content: "" }, true],
  ["a user's message", { role: "user", content: "" }, undefined],
])("%s of mini-swe-agent is an error only of a tool that could not run", async (_, result, is_error) => {
  const messages = [user("q"), said("a", { tool_calls: [call("c")] }), { ...result, extra: { exception_info: "no" } }];
  const file = { r: 1, info: {}, trajectory_format: "mini-swe-agent-1.1", messages };
  const [group] = await convertHere({ "s.traj.json": JSON.stringify(file) }, ["--reward-from", "r"]);
  expect(group.trajectories[0].messages_and_choices[2].is_error).toBe(is_error);
});

describe("a sample of Inspect", () => {
  const output = (id: string) => ({
    event: "model",
    output: { choices: [{ message: said("a", { id }), stop_reason: "max_tokens" }] },
  });
  const subtask = { event: "subtask", events: [output("m")] };

  it.each<[string, object, readonly object[], string, string | undefined]>([
    ["a generated turn", { source: "generate" }, [], "u A", "stop"],
    ["a turn of an event", { id: "m" }, [output("m")], "u A", "length"],
    ["a turn of an event in a subtask", { id: "m" }, [subtask], "u A", "length"],
    ["a turn that no event has", { id: "n" }, [output("m")], "u a", undefined],
    ["a turn without an id and a source", {}, [output("m")], "u a", undefined],
    ["another event's output", { id: "m" }, [{ ...output("m"), event: "score" }], "u a", undefined],
  ])("with %s has the turns in their order", async (_, more, events, turns, finish) => {
    const sample = { id: 1, epoch: 1, messages: [user("q"), said("a", more)], events, scores: { m: { value: 1 } } };
    const files = { "a.json": JSON.stringify({ eval: { task: "t" }, samples: [sample] }) };
    expect(await turnsHere(files)).toBe(turns);
    const [group] = await convertHere(files);
    expect(group.trajectories[0].messages_and_choices[1].finish_reason).toBe(finish);
  });
});
