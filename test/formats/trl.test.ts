import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { convertFile, convertRows, fileOf, turn, user } from "./rows.ts";

const groupsOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).trajectories);

describe("rows of TRL", () => {
  it("become trajectories of prompt and completion, as text or as messages", async () => {
    const rows = [
      { prompt: "2+2?", completion: "4", reward: 1, source: "x" },
      { prompt: [user("hi")], completion: [{ role: "assistant", content: "yo" }], reward: 0.5 },
    ];
    const { code, lines, notes } = await convertRows(rows, ["--exact"]);
    expect(code).toBe(0);
    expect(groupsOf(lines)).toEqual([
      [{ messages_and_choices: [user("2+2?"), turn("4")], reward: 1, metadata: { source: "x" } }],
      [{ messages_and_choices: [user("hi"), turn("yo")], reward: 0.5 }],
    ]);
    expect(notes[0]).toContain("read the input as rows of TRL (--from trl)");
  });

  it("become one group each from lists of completions and rewards of equal length", async () => {
    const row =
      '{"prompt":"2+2?","completions":["4","5"],"rewards":[1.0,-0],"advantages":[0.5,-0.5],"seed":9007199254740993';
    const { code, lines } = await convertRows([`${row}}`, `${row},"step":2}`], ["--exact"]);
    expect(code).toBe(0);
    const made = (content: string, reward: string, advantage: string, step = "") =>
      `{"messages_and_choices":[{"role":"user","content":"2+2?"},${JSON.stringify(turn(content))}],"reward":${reward},` +
      `"metadata":{"seed":9007199254740993${step},"advantages":${advantage}}}`;
    const group = (step?: string) =>
      `{"trajectories":[${made("4", "1.0", "0.5", step)},${made("5", "-0", "-0.5", step)}]}`;
    expect(lines).toEqual([group(), group(',"step":2')]);
  });

  it("take rewards from the list that --reward-from names", async () => {
    const row = { prompt: "q", completions: ["a", "b"], judged: { score: [3, 4] } };
    const { lines } = await convertRows([row], ["--reward-from", "judged.score"]);
    expect(groupsOf(lines)[0].map(({ reward }: { reward: number }) => reward)).toEqual([3, 4]);
    const { stderr } = await convertRows([row], ["--reward-from", "judged.scores"]);
    expect(stderr).toContain("lists of numbers: judged.score");
  });

  it("take the reward of each completion from --rewards by the row's id and the completion's position", async () => {
    const rewards = fileOf([
      { id: "r/0", reward: 3 },
      { id: "r/1", reward: 4 },
    ]);
    const { lines } = await convertRows([{ id: "r", prompt: "q", completions: ["a", "b"] }], ["--rewards", rewards]);
    expect(groupsOf(lines)[0]?.map(({ reward }: { reward: number }) => reward)).toEqual([3, 4]);
  });

  it("are converted from Parquet like lines, without keys that are null", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = [
      { name: "prompt", data: ["q", "q"], type: "STRING" as const },
      { name: "completion", data: ["a", "b"], type: "STRING" as const },
      { name: "reward", data: [1, 0.5], type: "DOUBLE" as const },
      { name: "seed", data: [9007199254740993n, null], type: "INT64" as const },
    ];
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData })));
    const made = (content: string, more: string) =>
      `{"messages_and_choices":[${JSON.stringify(user("q"))},${JSON.stringify(turn(content))}],${more}}`;
    expect((await convertFile(file, ["--exact"])).lines).toEqual([
      `{"trajectories":[${made("a", '"reward":1,"metadata":{"seed":9007199254740993}')},${made("b", '"reward":0.5')}]}`,
    ]);
  });

  it("are refused if a small Parquet file repeats a value too often", async () => {
    const prompt = JSON.stringify([user("x".repeat(200_000))]);
    const texts = { name: "messages", data: Array(1000).fill(prompt), type: "STRING" as const };
    const file = join(mkdtempSync(join(tmpdir(), "rollcall-trl-")), "rows.parquet");
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData: [{ ...texts, encoding: "RLE_DICTIONARY" }] })));
    const { code, stderr } = await runRollcall(["check", file, "--from", "openai-chat"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("its rows decompress to more than 64 MiB")]);
  });

  it("are refused if the schema of a Parquet file has other columns, also if a column is damaged", async () => {
    const texts = { name: "prompt", data: ["q", "r"], type: "STRING" as const };
    const rewards = { name: "reward", data: [1, 2], type: "DOUBLE" as const };
    const bytes = Buffer.from(parquetWriteBuffer({ columnData: [texts, rewards] }));
    bytes
      .fill(0xff, 4, 8)
      .write("rewurd", bytes.indexOf("reward", bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8)));
    const file = join(mkdtempSync(join(tmpdir(), "rollcall-trl-")), "rows.parquet");
    writeFileSync(file, bytes);
    const { code, stderr } = await runRollcall(["check", file]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("a Parquet file that cannot be read")]);
  });

  it("are refused at their position if lists differ in length, labels accompany lists, or rewards are not numbers", async () => {
    const rows = [
      { prompt: "a", completions: ["4", "5"], labels: [true, false] },
      { prompt: "b", completions: ["4", "5"], rewards: [1] },
      { prompt: "c", completions: ["4", "5"], rewards: [1, "x"] },
      { prompt: 7, completion: "x", reward: 1 },
      { prompt: "d", completion: "x", reward: "0.5" },
      { prompt: ["e"], completion: ["4", "5"], reward: [1, 0] },
      { prompt: "f", completions: ["4", "5", "6"], rewards: [1, 0, 1, 0] },
    ];
    const { code, stderr } = await convertRows(rows);
    expect(code).toBe(3);
    for (const said of [
      "rows.jsonl:1: error: labels: cannot convert this record of trl: labels next to completions rate steps of one solution and are not rewards",
      "rows.jsonl:2: error: rewards: cannot convert this record of trl: rewards is not a list of 2, one for each completion",
      "rows.jsonl:3: error: rewards.1: cannot convert this record of trl: rewards[1] is not a number",
      "rows.jsonl:4: error: prompt: cannot convert this record of trl: prompt is neither messages nor text",
      "rows.jsonl:5: error: reward: cannot convert this record of trl: reward is a string, not a number (remove the quotes)",
      "rows.jsonl:7: error: rewards: cannot convert this record of trl: rewards is not a list of 3, one for each completion",
      "reward is a list, which requires `completions` and `rewards`",
    ])
      expect(stderr).toContain(said);
  });

  it("are not recognized in results of verifiers and in pairs of preferences", async () => {
    const row = { prompt: "q", completion: "a", reward: 1 };
    for (const other of [
      { ...row, example_id: 1, task: "t" },
      { ...row, info: {} },
      { prompt: "q", chosen: "a", rejected: "b" },
    ])
      expect((await convertRows([other])).stderr).not.toContain("--from trl):");
  });
});
