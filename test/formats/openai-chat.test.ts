import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { convertFile, convertRows, fileOf, user } from "./rows.ts";

const tool = { type: "function", function: { name: "add", parameters: {} } };
const flat = '{"id":"c1","name":"add","arguments":{"a":2,"b":12345678901234567890}}';
const called =
  '{"messages":[{"role":"system","content":"be \\u00e9xact"},{"role":"user","content":"2+2?"},' +
  `{"role":"assistant","content":null,"tool_calls":[${flat}]},{"role":"tool","content":"4"},{"role":"assistant","content":"4"}],` +
  `"reward":1.50,"seed":12345678901234567890,"tools":[${JSON.stringify(tool)}],"metadata":{"k":"v"},"metrics":{"len":3}}`;
const said = (reward: number, more: object = {}) => ({
  messages: [user("hi"), { role: "assistant", content: "yo" }],
  reward,
  ...more,
});

const rewardsIn = (lines: readonly string[]): readonly number[][] =>
  lines.map((line) => JSON.parse(line).trajectories.map(({ reward }: { reward: number }) => reward));

describe("rows of chat messages", () => {
  it("become trajectories with a choice for each turn of the assistant, and keep digits, escapes and scalars", async () => {
    const { code, lines, notes, left } = await convertRows([called], ["--exact"]);
    const args = '"{\\"a\\":2,\\"b\\":12345678901234567890}"';
    expect({ code, lines, left }).toEqual({
      code: 0,
      lines: [
        '{"trajectories":[{"messages_and_choices":[{"role":"system","content":"be \\u00e9xact"},{"role":"user","content":"2+2?"},' +
          '{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","content":null,"tool_calls":[' +
          `{"id":"c1","type":"function","function":{"name":"add","arguments":${args}}}]}},` +
          '{"role":"tool","content":"4","tool_call_id":"c1"},' +
          '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4"}}],' +
          `"tools":[${JSON.stringify(tool)}],"reward":1.50,"metrics":{"len":3},"metadata":{"seed":12345678901234567890,"k":"v"}}]}`,
      ],
      left: [],
    });
    expect(notes).toEqual([
      "read the input as rows of chat messages (--from openai-chat): group from group_id, prompt_id, …, else the prompt, within a step; reward from reward; choices from every turn of the assistant",
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (2 times)",
      "assigned results without tool_call_id to the calls in order",
    ]);
  });

  it("are grouped by key and step, or by prompt and step without a key", async () => {
    const rows = [
      said(1),
      said(2, { messages: [user("hi"), { role: "assistant", content: "other" }] }),
      said(3, { step: 2 }),
      said(4, { messages: [user("you"), { role: "assistant", content: "yo" }] }),
      said(5, { group_id: "a" }),
      said(6, { metadata: { prompt_id: 7 } }),
      said(7, { group_id: "a", messages: [user("else"), { role: "assistant", content: "yo" }] }),
      said(8, { group_id: "a", step: 2 }),
    ];
    const { lines } = await convertRows(rows);
    expect(rewardsIn(lines)).toEqual([[1, 2], [3], [4], [5, 7], [6], [8]]);
  });

  it("are refused with the number of the line of --rewards that has no reward", async () => {
    const rewards = fileOf([{ id: "r1", reward: 0.5 }, { id: "r2" }]);
    const ran = await runHere(["check", fileOf([said(1)]), "--rewards", rewards]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining("line 2 is no") });
  });

  it("take the reward from the given key or file, and a row without one is reported at its position", async () => {
    const rewards = fileOf([{ id: "r1", reward: 0.5 }]);
    const row = { messages: [user("hi"), { role: "assistant", content: "yo" }], id: "r1", judge: { score: 0.25 } };
    const rewardOf = async (...args: string[]) => {
      const { lines } = await convertRows([row], args);
      return JSON.parse(lines[0] ?? "{}").trajectories?.[0].reward;
    };
    expect(await rewardOf("--rewards", rewards)).toBe(0.5);
    expect(await rewardOf("--reward-from", "judge.score")).toBe(0.25);
    const wrong = await convertRows(
      [{ ...row, n: 1, judge: { ...row.judge, sure: 1 } }],
      ["--reward-from", "juge.scor"],
    );
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain("--reward-from finds nothing at juge.scor (numbers: judge.score, n, judge.sure)");
    const none = await convertRows([{ messages: row.messages }], ["--reward-from", "judge.score"]);
    expect(none.stderr).toContain("--reward-from finds nothing at judge.score (the record has no numbers)");
    const { code, stderr } = await convertRows([row]);
    expect(code).toBe(3);
    expect(stderr).toContain("pass --reward-from <path>, or --rewards <file>, or reject the record's group");
  });

  it("can have their messages as JSON in a string, as the command for CSV writes them", async () => {
    const row = said(0.5);
    const inText = { ...row, messages: JSON.stringify(row.messages) };
    const { code, lines } = await convertRows([inText]);
    expect({ code, lines }).toEqual({ code: 0, lines: (await convertRows([row])).lines });
    const parquet = fileOf([], "rows.parquet");
    const columnData = [
      { name: "messages", data: [inText.messages], type: "STRING" as const },
      { name: "reward", data: [0.5], type: "DOUBLE" as const },
    ];
    writeFileSync(parquet, new Uint8Array(parquetWriteBuffer({ columnData })));
    expect((await convertFile(parquet)).lines).toEqual(lines);
    const quoted = inText.messages.replaceAll('"', '""');
    const table = fileOf(["messages,reward", `"${quoted}",0.5`], "rows.csv");
    const [, hint = ""] = /hint: (.*)/.exec((await convertFile(table)).stderr) ?? [];
    const [script = "", program] = hint.slice(hint.indexOf("python3")).split(" | ");
    expect(program).toBe("rollcall convert --reward-from reward");
    const rows = execFileSync("sh", ["-c", script], { cwd: dirname(table), encoding: "utf8" })
      .trimEnd()
      .split("\n");
    expect(rewardsIn((await convertRows(rows, ["--reward-from", "reward"])).lines)).toEqual([[0.5]]);
    const other = fileOf(["id,conversation,score", `1,"${quoted}",0.5`], "other.csv");
    expect((await convertFile(other)).stderr).toContain(
      `< ${other} | rollcall convert --messages-from conversation --reward-from score`,
    );
  });

  it("are read from the columns of --messages-from and --reward-from, also of Parquet", async () => {
    const { messages } = said(0.5);
    const args = ["--messages-from", "conversation", "--reward-from", "score"];
    const { lines } = await convertRows([{ messages, score: 0.5 }], ["--reward-from", "score"]);
    expect((await convertRows([{ conversation: messages, score: 0.5 }], args)).lines).toEqual(lines);
    const parquet = fileOf([], "rows.parquet");
    const columnData = [
      { name: "conversation", data: [JSON.stringify(messages)], type: "STRING" as const },
      { name: "score", data: [0.5], type: "DOUBLE" as const },
    ];
    writeFileSync(parquet, new Uint8Array(parquetWriteBuffer({ columnData })));
    expect((await convertFile(parquet, args)).lines).toEqual(lines);
    expect((await convertFile(dirname(parquet), args)).lines).toEqual(lines);
    expect((await convertFile(parquet)).stderr).toContain("--messages-from conversation --reward-from score");
    const { code, stderr } = await convertRows([{ messages }], ["--messages-from", "conversation", "--from", "trl"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("only openai-chat reads messages from a path")]);
    const { stderr: missing } = await convertRows([{ score: 1 }], args);
    expect(missing).toContain("conversation is missing");
  });

  it("take the reward from a path in an object, which the error and the note name", async () => {
    const rows = [1, 0.5].map((total) => said(1, { reward: { total, parts: { style: 0.25 } } }));
    const none = await convertRows(rows);
    expect(none.code).toBe(3);
    expect(none.stderr).toContain("pass --reward-from reward.total, or reject the record's group");
    const { code, lines, notes } = await convertRows(rows, ["--reward-from", "reward.total"]);
    expect({ code, rewards: rewardsIn(lines) }).toEqual({ code: 0, rewards: [[1, 0.5]] });
    expect(notes[0]).toContain("reward from reward.total; choices from");
    const rewards = fileOf([{ id: "r1", reward: 2 }]);
    const given = await convertRows([{ ...rows[0], id: "r1" }], ["--rewards", rewards]);
    expect(rewardsIn(given.lines)).toEqual([[2]]);
    expect(given.notes[0]).toContain("reward from --rewards; choices from");
  });

  it("have the reward 1 for true and 0 for false, with a note", async () => {
    const rows = [true, false].map((solved) => said(1, { reward: solved, solved }));
    const note = "converted the rewards true and false to 1 and 0 (2 times)";
    for (const args of [[], ["--reward-from", "solved"]]) {
      const { code, lines, notes } = await convertRows(rows, args);
      expect({ code, rewards: rewardsIn(lines) }).toEqual({ code: 0, rewards: [[1, 0]] });
      expect(notes).toContain(note);
    }
    const group = await convertRows([{ prompt: "q", completions: ["a", "b"], rewards: [true, 0.5] }]);
    expect(rewardsIn(group.lines)).toEqual([[1, 0.5]]);
    const scored = await convertRows(
      [{ prompt: "q", completions: ["a", "b"], rewards: { n: 1 }, scores: [false, 2] }],
      ["--reward-from", "scores"],
    );
    expect(rewardsIn(scored.lines)).toEqual([[0, 2]]);
  });

  it("give a reason for each value left out, and the positions of damaged rows", async () => {
    const rows = [
      said(1, { metadata: { deep: { x: 1 } }, extra: [1] }),
      said(2, { reward: "high", group_id: "b" }),
      '{"messages":"hi","reward":1,"group_id":"c"}',
    ];
    const { code, lines, left, stderr } = await convertRows(rows, ["--on-invalid", "skip"]);
    expect({ code, groups: lines.length }).toEqual({ code: 7, groups: 1 });
    expect(left).toContainEqual(["metadata.deep.x", "metadata cannot contain nested values"]);
    expect(left).toContainEqual(["extra[]", "the interface has no field for it"]);
    expect(stderr).toContain(
      "rows.jsonl:2: error: reward: cannot convert this record of openai-chat: reward is a string, not a number",
    );
    expect(stderr).toContain(
      "rows.jsonl:3: error: messages: cannot convert this record of openai-chat: messages is not a list",
    );
  });

  it("are read back as the same trajectory after they were logged", async () => {
    const home = newHome();
    const args = ["log", "m", fileOf([called]), "--split", "train", "--local", "--json"];
    const [{ body }] = JSON.parse((await runRollcall(args, { env: home })).stdout).responses;
    const read = await runRollcall(["call", "read", body.call_ids[0], "--as", "trajectory", "--local"], { env: home });
    const own = JSON.parse((await convertRows([called])).lines[0] ?? "").trajectories[0];
    expect(JSON.parse(read.stdout)).toMatchObject(own);
  });

  it("are reported with their format among trajectories in rollcall's format", async () => {
    const mixed = fileOf([{ messages_and_choices: [user("hi")], reward: 1 }, said(1)]);
    expect((await runRollcall(["check", mixed])).stderr).toContain(
      "read the file with --from openai-chat, or convert it first with rollcall convert",
    );
  });

  it("are recognized in a folder of indented documents, also with a prompt", async () => {
    const folder = dirname(fileOf([]));
    writeFileSync(join(folder, "a.json"), JSON.stringify(said(1, { prompt: "hi", tools: null }), undefined, 2));
    const { code, stdout } = await runHere(["check", folder, "--from", "openai-chat", "--json"]);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, status: "valid", groups: { read: 1 } });
  });

  it("are not recognized if their turns mean something else", async () => {
    const row = { ...said(1), trajectory_format: "mini-swe-agent-1.1" };
    expect((await convertRows([row])).stderr).not.toContain("--from openai-chat):");
  });
});
