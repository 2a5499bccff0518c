import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { called, convertFiles, folderOf, sampled, sampleText, user } from "./converting.ts";

const indented = (document: object): string => JSON.stringify(document, null, 2);

const system = { role: "system", content: "s" };
const rewards = { "rewards.lines": ["i", "1", "2", "old"].map((id) => `{"id":"${id}","reward":0.50}\n`).join("") };
const args = ["--rewards", "rewards.lines"];

const documentOf = (messages: readonly object[], more: object = {}) => ({
  info: {
    exit_status: "Submitted",
    submission: "diff",
    model_stats: { instance_cost: 0.1, api_calls: 2 },
    config: { agent: {} },
  },
  messages,
  trajectory_format: "mini-swe-agent-1.1",
  ...more,
});

const answered = (content: string, choice: object = {}) => {
  const message = { role: "assistant", content, tool_calls: null };
  return {
    ...message,
    extra: {
      response: { id: "r", choices: [{ finish_reason: "length", index: 0, message, ...choice }], usage: { n: 1 } },
      cost: 0.1,
    },
  };
};

describe("a trajectory of mini-swe-agent", () => {
  it("gets the choices of its responses, without exits and refused responses, and is grouped by instance", async () => {
    const logprobs = { content: [{ token: "a", logprob: -0.5, bytes: null, top_logprobs: [] }] };
    const messages = [
      system,
      { ...user("q"), extra: { timestamp: 1.5 } },
      answered("one", { logprobs }),
      {
        ...user("Please always provide ONE action"),
        extra: { interrupt_type: "FormatError", response: { choices: [{ refused: true }] } },
      },
      answered("two", { finish_reason: null }),
      { role: "tool", tool_call_id: "c", content: "out", extra: { returncode: 0 } },
      { role: "assistant", content: "no response", extra: { actions: [] } },
      { role: "exit", content: "diff", extra: { exit_status: "Submitted" } },
    ];
    const files = {
      "run-1/i/i.traj.json": indented(documentOf(messages, { instance_id: "i" })),
      "run-2/i/i.traj.json": JSON.stringify(documentOf([user("q"), answered("three")], { instance_id: "i" })),
      "run-2/other.json": "{}",
      ...rewards,
    };
    const { code, groups, notes, left } = await convertFiles(files, { names: ["."], args });
    expect(code).toBe(0);
    const choice = (content: string) => sampled({ role: "assistant", content, tool_calls: null }, "length");
    expect(groups).toEqual([
      {
        trajectories: [
          {
            messages_and_choices: [
              system,
              user("q"),
              { ...choice("one"), logprobs },
              user("Please always provide ONE action"),
              sampled("two"),
              { role: "tool", tool_call_id: "c", content: "out" },
              sampled("no response"),
            ],
            reward: 0.5,
            metrics: { instance_cost: 0.1, api_calls: 2 },
            metadata: {
              exit_status: "Submitted",
              submission: "diff",
              trajectory_format: "mini-swe-agent-1.1",
              instance_id: "i",
            },
          },
          expect.objectContaining({ messages_and_choices: [user("q"), choice("three")] }),
        ],
      },
    ]);
    expect(notes.slice(1)).toEqual([
      "left out a response with a format error, which the agent did not see again",
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (2 times)",
      "left out a message with the role exit, which tells how the agent ended",
      "--rewards has 3 ids without a rollout: 1, 2, old",
      "skipped files without rollouts: run-2/other.json",
    ]);
    expect(Object.keys(left)).toEqual([
      "a message with the role exit, which tells how the agent ended",
      "a response with a format error, which the agent did not see again",
      "metadata cannot contain nested values",
      "the choice of extra.response repeats it",
      "the interface has no field for it",
      "the value is null",
    ]);
  });

  it("gets messages and choices from items of the Responses API", async () => {
    const call = { type: "function_call", call_id: "c", name: "bash", arguments: '{"command":"ls"}' };
    const text = { type: "message", role: "assistant", content: [{ type: "output_text", text: "look" }] };
    const response = { object: "response", output: [text, call], extra: { cost: 1 } };
    const messages = [
      system,
      user("q"),
      response,
      { type: "function_call_output", call_id: "c", output: "a.txt", extra: { returncode: 0 } },
      { type: "message", role: "user", content: [{ type: "input_text", text: "again" }], extra: { response: {} } },
      {
        role: "assistant",
        content: "",
        extra: {
          response: { object: "response", output: [text], incomplete_details: { reason: "max_output_tokens" } },
        },
      },
    ];
    const { groups } = await convertFiles(
      { "1.traj.json": indented(documentOf(messages)), ...rewards },
      { names: ["1.traj.json"], args },
    );
    expect(groups[0]?.trajectories[0]?.messages_and_choices).toEqual([
      system,
      user("q"),
      sampled(
        { role: "assistant", content: "look", tool_calls: [called("c", "bash", '{"command":"ls"}')] },
        "tool_calls",
      ),
      { role: "tool", tool_call_id: "c", content: "a.txt" },
      user("again"),
      sampled("look", "length"),
    ]);
  });

  it("may be a bare array of messages, as older versions wrote it, with --from", async () => {
    const text = sampleText("mini-swe.local.traj.json");
    const files = { "old.traj.json": text, ...rewards };
    const refused = await runRollcall(["convert", "old.traj.json"], { cwd: folderOf(files) });
    expect(refused.stderr).toContain(
      "old.traj.json: mini-swe-agent-messages lacks some of the tokens or turns [lossy-format]",
    );
    expect(refused.code).toBe(3);
    const { code, groups, left } = await convertFiles(files, { names: ["old.traj.json"], args: [...args, "--lossy"] });
    expect({ code, left }).toEqual({ code: 0, left: {} });
    const messages: readonly { role: string; content: string }[] = JSON.parse(text);
    const turns = messages.map((message) => (message.role === "assistant" ? sampled(message) : message));
    expect(groups).toEqual([{ trajectories: [{ messages_and_choices: turns, reward: 0.5 }] }]);
  });

  it("gives the position of its problems", async () => {
    const files = {
      "1.traj.json": `{"trajectory_format":"mini-swe-agent-1.1",\n"messages":[{"content":"q"}]}`,
      "2.traj.json": `{"trajectory_format":"mini-swe-agent-1.1",\n"messages":[{"role":"user","content":"q"},\n7]}`,
      "3.traj.json": `{"trajectory_format":"mini-swe-agent-1.1","messages":[]}`,
      "i.traj.json": `{"messages":[],\n"trajectory_format":"mini-swe-agent-2"}`,
      "j.traj.json": "[",
      ...rewards,
    };
    const { code, errors } = await convertFiles(files, { names: ["."], args });
    expect(code).toBe(3);
    expect(errors).toMatchInlineSnapshot(`
      [
        "1.traj.json:1: error: messages.0: cannot convert this record of mini-swe-agent: role is missing [record-invalid]",
        "2.traj.json:1: error: messages.1: cannot convert this record of mini-swe-agent: a message is not an object [record-invalid]",
        "3.traj.json:1: error: cannot convert this record of mini-swe-agent: --rewards has no reward for 3 or 3.traj [record-invalid]",
        "i.traj.json:1: error: trajectory_format: cannot convert this record of mini-swe-agent: trajectory_format is not between mini-swe-agent-1 and mini-swe-agent-1.1 [record-invalid]",
        "j.traj.json:1:2: error: cannot convert this record of mini-swe-agent: it is cut off [record-invalid]",
      ]
    `);
  });
});
