/** Tests the conversion of SWE-agent's trajectories. */
import { expect, it } from "vitest";
import { convertFile, convertFiles, convertHere, fileOf, notesHere, turn, turnsHere, user } from "./converting.ts";

// Written after SWE-agent/SWE-agent v0.7.0 and v1.1.0, `sweagent/agent/agents.py`.
it.each([
  ["", "Exit due to cost limit", "Exit due to cost limit", "submitted (exit_cost)"],
  ["exit_error", "exit due to runtime error: E", "Exit due to runtime error: E", "exit_error"],
])("SWE-agent's own exit text is not a choice (row %$)", async (action, content, thought, exit_status) => {
  const exit = { role: "assistant", content, thought, action };
  const own = { role: "assistant", content: "bad output", thought: "Exit due to format error", action: "exit_format" };
  const info = { model_stats: { api_calls: 2 } };
  const history = [user("q"), { role: "assistant", content: "ls" }, user("o")];
  const { groups } = await convertFiles(
    {
      "a.traj": JSON.stringify({ trajectory: [], history: [...history, exit], info: { ...info, exit_status } }),
      "b.traj": JSON.stringify({
        trajectory: [],
        history: [...history, own],
        info: { ...info, exit_status: "exit_format" },
      }),
    },
    {
      args: [
        "--rewards",
        fileOf([
          { id: "a", reward: 0 },
          { id: "b", reward: 0 },
        ]),
      ],
    },
  );
  expect(groups.map(({ trajectories: [one] }) => one)).toMatchObject([
    { messages_and_choices: [{}, turn("ls"), {}, { role: "assistant", content }] },
    { messages_and_choices: [{}, turn("ls"), {}, turn("bad output")] },
  ]);
});

it.each<[exit_status: string, turns: string, notes: readonly string[], more?: object]>([
  [
    "exit_cost",
    "u a",
    ["kept the last turn of the assistant as a message, because SWE-agent wrote it when it stopped"],
  ],
  ["submitted", "u A", []],
  ["exit_cost", "u A", [], { tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] }],
])(
  "the text of SWE-agent's exit is its own only with a status such as %s",
  async (exit_status, turns, expected, more) => {
    const content = "Exit due to cost limit";
    const history = [user("q"), { role: "assistant", content, thought: content, ...more }];
    const file = { r: 1, trajectory: [], history, info: { model_stats: { api_calls: 1 }, exit_status } };
    expect(await turnsHere({ "a.traj": JSON.stringify(file) }, ["--reward-from", "r"])).toBe(turns);
    const notes = await notesHere([file], ["--reward-from", "r"]);
    expect(notes.filter((note) => note.startsWith("kept"))).toEqual(expected);
  },
);

// Written after SWE-agent/SWE-agent v1.1.0, `sweagent/agent/models.py`.
it.each([
  ["human", "u a"],
  ["human_thought", "u a"],
  ["replay", "u a"],
  ["instant_empty_submit", "u a"],
  ["humane/replay", "u A"],
])("the turns of the model %s are %j in a file of SWE-agent 1, which counts them as calls", async (name, turns) => {
  const replay_config = JSON.stringify({ agent: { model: { name } } });
  const history = [user("q"), { role: "assistant", content: "ls" }];
  const file = { r: 1, trajectory: [], history, info: { model_stats: { api_calls: 1 } }, replay_config };
  expect(await turnsHere({ "a.traj": JSON.stringify(file) }, ["--reward-from", "r"])).toBe(turns);
});

// Written after SWE-agent/SWE-agent v0.7.0, `call_subroutine` in `sweagent/agent/agents.py`.
it("the conversations of subroutines are additional histories", async () => {
  const item = (agent: string, role: string, content: string, more: object = {}) => ({ role, content, agent, ...more });
  const call = (at: string) => [
    item("searcher", "system", `s${at}`),
    item("other", "assistant", "d", { is_demo: true }),
    item("searcher", "assistant", `a${at}`),
  ];
  const history = [
    item("primary", "system", "s"),
    item("primary", "assistant", "a"),
    ...[...call("1"), item("primary", "user", "u"), ...call("2"), item("primary", "assistant", "b")],
  ];
  const file = { r: 1, trajectory: [], history, info: { model_stats: { api_calls: 4 } } };
  const [group] = await convertHere({ "a.traj": JSON.stringify(file) }, ["--reward-from", "r"]);
  const inner = (at: string) => ({
    messages_and_choices: [{ role: "system", content: `s${at}` }, turn("d").message, turn(`a${at}`)],
  });
  expect(group.trajectories).toMatchObject([
    {
      messages_and_choices: [{ role: "system", content: "s" }, turn("a"), user("u"), turn("b")],
      additional_histories: [inner("1"), inner("2")],
    },
  ]);
});

it.each([
  ["attempts and a trajectory", { attempts: [{ trajectory: [], history: [], info: {} }], trajectory: [], info: {} }],
  ["steps", { trajectory: [{ action: "ls", observation: "a", response: "I run ls", state: "{}" }], info: {} }],
])("a file of SWE-agent with %s, but without history, is refused by name", async (_, file) => {
  const { stderr } = await convertFile(fileOf([file], "a.json"));
  expect(stderr).toContain("cannot convert this swe-agent record: `history` is missing");
});
