import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { convertFile, convertFiles, convertHere, convertRows, fileOf, notesHere } from "./converting.ts";
import { turn, user } from "./records.ts";

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

const runScript = (script: string, cwd: string): readonly string[] =>
  execFileSync("sh", ["-c", script], { cwd, encoding: "utf8" }).trimEnd().split("\n");

describe("rows of chat messages", () => {
  const answer = { role: "assistant", content: "6" };

  it.each<[column: string, value: unknown]>([
    ["response", "6"],
    ["generated_text", "6"],
    ["model_output", ["6"]],
    ["reply", answer],
    ["other", [answer]],
    ["choices", [{ message: answer, finish_reason: "length" }]],
    ["text", JSON.stringify([answer])],
  ])("are refused if they end before the answer, and `%s` can have it", async (column, value) => {
    const messages = [user("q"), { role: "assistant", content: "4" }, user("r")];
    const refused = `the messages end before the answer, which can be \`${column}\``;
    const rows = [{ messages, reward: 1, [column]: value }];
    expect((await convertRows(rows)).stderr).toContain(refused);
    expect((await convertRows(rows, ["--from", "openai-chat"])).stderr).toContain(refused);
    const { lines, stderr } = await convertRows([{ messages, reward: 1, expected_response: "6", response: null }]);
    expect([lines.length, stderr]).toEqual([1, expect.stringContaining("some rows end with a message of the user")]);
  });

  it("are not refused for other texts and conversations than their answer", async () => {
    const messages = [user("q"), { role: "assistant", content: "4" }, user("game over")];
    const texts = "response_id outputFormat generation_model generated_by output_path judge_reply expected_output";
    const columns = Object.fromEntries(texts.split(" ").map((name) => [name, "6"]));
    const lists = {
      judge_messages: [user("q"), answer],
      raw_prompt: [answer],
      raw_messages: [answer, user("game over")],
    };
    const { lines } = await convertRows([{ messages, reward: 1, ...columns, ...lists }]);
    expect(lines).toHaveLength(1);
  });

  it.each([
    ["c", "", "c"],
    ["", "", "call_1_0"],
    [7, 7, 7],
  ])("with a call of the id %j and a result for %j have a result for %j", async (id, tool_call_id, expected) => {
    const tool_calls = [{ id, type: "function", function: { name: "f", arguments: "{}" } }];
    const calling = { role: "assistant", content: null, tool_calls };
    const messages = [user("q"), calling, { role: "tool", tool_call_id, content: "r" }];
    const turns = JSON.parse((await convertRows([{ messages, reward: 1 }])).lines[0] ?? "{}").trajectories[0]
      .messages_and_choices;
    expect([turns[1].message.tool_calls[0].id, turns[2].tool_call_id]).toEqual([expected, expected]);
  });

  it.each(["assistant", "tool_call"])(
    "have the first %s as the end of their prompt, and as a turn of the rows that continue it",
    async (answer) => {
      const rowOf = (reward: number, ...said: readonly string[]) => ({
        reward,
        messages: ["user", answer, "user", answer]
          .slice(0, 1 + said.length)
          .map((role, at) => ({ role, content: JSON.stringify({ name: said[at - 1] ?? "q" }) })),
      });
      expect(rewardsIn((await convertRows([rowOf(0, "f"), rowOf(1, "g")])).lines)).toEqual([[0, 1]]);
      const { stderr } = await convertRows([rowOf(0, "f"), rowOf(0, "f", "r", "g")]);
      expect(stderr).toContain("warning: the row continues the row before");
    },
  );

  it("can have their messages as JSON in a string, like the output of the command for CSV", async () => {
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
  });

  it("are converted from CSV with a byte order mark by the commands in the hints", async () => {
    const table = ["\ufeffprompt,response,score", "hi,yo,1"];
    const file = fileOf(table, "rows.csv");
    const [, script = "", out = ""] = /`(python3 .*) > (.*)`/.exec((await convertFile(file)).stderr) ?? [];
    expect(out).toBe(file.replace(".csv", ".rows.jsonl"));
    const rows = runScript(script, dirname(file));
    const [, options = ""] = /hint: .*pass (.*)/.exec((await convertRows(rows)).stderr) ?? [];
    const { lines } = await convertRows(rows, options.split(" "));
    expect(rewardsIn(lines)).toEqual([[1]]);
    expect(lines[0]).toMatch(/"content": ?"yo"/);
  });

  it("with messages in another column of Parquet are refused with the column and the reward", async () => {
    const parquet = fileOf([], "rows.parquet");
    const columnData = [
      { name: "conversation", data: [JSON.stringify(said(0.5).messages)], type: "STRING" as const },
      { name: "score", data: [0.5], type: "DOUBLE" as const },
    ];
    writeFileSync(parquet, new Uint8Array(parquetWriteBuffer({ columnData })));
    const { code, stderr } = await convertFile(parquet);
    const refused = "records with the keys conversation, score [unknown-format]\n";
    const hint = "hint: write `conversation` to the key messages, and pass --from openai-chat --reward-from score";
    expect([code, stderr]).toEqual([3, expect.stringContaining(`${refused}${hint}`)]);
  });

  it("are read from JSON columns of Parquet byte for byte", async () => {
    const { messages } = said(0.5);
    const columnData = [
      { name: "messages", data: [messages] },
      { name: "reward", data: [{ total: 0.5, format: 1, length: 7 }] },
      { name: "metadata", data: [{ k: 123456, nested: { a: 1 } }] },
      { name: "broken", data: [7654321] },
    ].map((column) => ({ ...column, type: "JSON" as const }));
    const bytes = Buffer.from(parquetWriteBuffer({ columnData, codec: "UNCOMPRESSED" })).toString("latin1");
    const parquet = fileOf([], "rows.parquet");
    writeFileSync(parquet, bytes.replaceAll("123456", "\n 1.50").replaceAll("7654321", "{broken"), "latin1");
    const args = ["--reward-from", "reward.total"];
    const { lines } = await convertFile(parquet, args);
    const row = `{"messages":${JSON.stringify(messages)},"reward":{"total":0.5,"format":1,"length":7},"broken":"{broken","metadata":{"k":1.50}}`;
    expect(lines).toEqual((await convertRows([row], args)).lines);
    expect(lines.join()).toContain('"metrics":{"reward.total":0.5,"reward.format":1,"reward.length":7}');
  });

  it.each<[args: readonly string[], converted: string]>([
    [[], '"reward":1,"metrics":{"reward":0.5,"tools":2}'],
    [["--reward-from", "metrics.reward"], '"reward":0.5,"metrics":{"tools":2}'],
  ])("keep metrics that are named like columns (%j)", async (args, converted) => {
    const { lines } = await convertRows([said(1, { metrics: { reward: 0.5, tools: 2 } })], args);
    expect(lines.join()).toContain(converted);
  });

  it("belong to the group of the step before if they are truncated before their own step", async () => {
    const row = (content: string, reward: number) => ({
      messages: [user("q"), { role: "assistant", content }],
      reward,
    });
    const [a, b, other] = [row("a", 1), row("b", 0), { messages: [user("r"), turn("c").message], reward: 1 }];
    const rows = [a, other, b].map((one) => ({ ...one, step: 7 }));
    const files = { "a.jsonl": [...rows.slice(0, 2), JSON.stringify(rows[2]).slice(0, -3)] };
    const { code, groups } = await convertFiles(files, { args: ["--on-invalid", "skip"] });
    expect([code, JSON.stringify(groups)]).toEqual([7, expect.stringMatching(/^\[(?!.*"q").*"r".*\]$/)]);
  });

  it("are rejected with their own reasons", async () => {
    const wrong = [{}, { reward: "none" }, {}, { messages: [7] }];
    const file = fileOf(wrong.map((faults, group_id) => ({ ...said(1, { group_id }), ...faults })));
    const rejects = `${file}.rejected`;
    await runRollcall(["convert", file, "--on-invalid", "skip", "--rejects", rejects]);
    const reasons = readFileSync(`${rejects}.reasons`, "utf8").trimEnd().split("\n");
    expect(reasons.map((line) => JSON.parse(line))).toMatchObject([
      { line: 2, rule: "record-invalid", path: ["reward"], rejects_line: 1 },
      { line: 4, rule: "record-invalid", path: ["messages", 0], rejects_line: 2 },
    ]);
  });

  it("are named by their numbers, in order, with the column that probably has the rewards", async () => {
    const parquet = fileOf([], "rows.parquet");
    const columnData = [
      { name: "messages", data: Array.from({ length: 11 }, () => said(0).messages), type: "JSON" as const },
      { name: "score", data: Array.from({ length: 11 }, (_, at) => at), type: "INT32" as const },
    ];
    writeFileSync(parquet, new Uint8Array(parquetWriteBuffer({ columnData })));
    const { stderr } = await runRollcall(["check", parquet]);
    expect(stderr.match(/row \d+/g)).toEqual([1, 2, 3, 4, 5, 6, 7].map((row) => `row ${row}`));
    expect(stderr).toContain("pass --reward-from score, or --rewards <file>");
  });

  it("can have the calls, results and tools of OpenAI's older API", async () => {
    const fn = { name: "f", arguments: "{}" };
    const calling = { role: "assistant", content: null, function_call: fn };
    const messages = [user("q"), calling, { role: "function", name: "f", content: "r" }];
    const functions = [{ name: "f", description: "d", parameters: { type: "object" } }];
    const tool_calls = [{ id: "call_1_0", type: "function", function: fn }];
    const message = { role: "assistant", content: null, tool_calls };
    expect(await convertHere({ "a.jsonl": [{ messages, functions, reward: 1 }] })).toEqual([
      {
        trajectories: [
          {
            messages_and_choices: [
              user("q"),
              { finish_reason: "tool_calls", index: 0, message },
              { role: "tool", name: "f", content: "r", tool_call_id: "call_1_0" },
            ],
            tools: [{ type: "function", function: functions[0] }],
            reward: 1,
          },
        ],
      },
    ]);
  });

  it("are noted if a turn is of another channel than the final one", async () => {
    const calls = { tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] };
    const rows = [{ channel: "final" }, { channel: "commentary", ...calls }, { channel: "analysis" }].map((more) => ({
      messages: [user("q"), { role: "assistant", content: "a", ...more }],
      reward: 1,
    }));
    const note = "read turns of other channels than `final`, such as analysis, as answers";
    expect([await notesHere(rows.slice(0, 2)), await notesHere(rows)]).toEqual([[], [note]]);
  });

  it("are read back as the same trajectory after they were logged", async () => {
    const home = newHome();
    const args = ["log", "m", fileOf([called]), "--split", "train", "--local", "--json"];
    const [{ body }] = JSON.parse((await runRollcall(args, { env: home })).stdout).responses;
    const read = await runRollcall(["call", "read", body.call_ids[0], "--json", "--local"], { env: home });
    const own = JSON.parse((await convertRows([called])).lines[0] ?? "").trajectories[0];
    const { inputs, output, attributes } = JSON.parse(read.stdout).call;
    const said = [...inputs.messages, output.choices?.[0].message ?? output];
    expect(said).toEqual(own.messages_and_choices.map((turn: { message?: object }) => turn.message ?? turn));
    expect([inputs.tools, attributes.reward]).toEqual([own.tools, own.reward]);
  });
});
