import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { parquetWriteBuffer, type SchemaElement } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { convertFile, convertRows } from "./converting.ts";
import { turn, user } from "./records.ts";

describe("rows of TRL", () => {
  it("are noted for a decoded prompt", async () => {
    const { notes } = await convertRows([{ step: 0, prompt: "q", completion: "a", reward: 1, advantage: 0 }]);
    expect(notes.some((note) => note.startsWith("converted each prompt to one message"))).toBe(true);
  });

  it("are converted from Parquet like lines, without keys that are null", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = [
      { name: "prompt", data: ["q", "q"], type: "STRING" as const },
      { name: "completion", data: ["a", "b"], type: "STRING" as const },
      { name: "reward", data: [1, 0.5], type: "DOUBLE" as const },
      { name: "seed", data: [9007199254740993n, null], type: "INT64" as const },
      { name: "finish_reason", data: ["stop", "length"], type: "STRING" as const },
    ];
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData })));
    const made = ([content, finish]: readonly [string, string], more: string) =>
      `{"messages_and_choices":[${JSON.stringify(user("q"))},${JSON.stringify(turn(content, finish))}],${more}}`;
    const [seed, finish] = ['"seed":9007199254740993', '"finish_reason":'];
    const stopped = made(["a", "stop"], `"reward":1,"metadata":{${seed},${finish}"stop"}`);
    const cut = made(["b", "length"], `"reward":0.5,"metadata":{${finish}"length"}`);
    expect((await convertFile(file)).lines).toEqual([`{"trajectories":[${stopped},${cut}]}`]);
    const lines = [
      '{"prompt":"q","completion":"a","reward":1,"seed":9007199254740993,"finish_reason":"stop"}',
      '{"prompt":"q","completion":"b","reward":0.5,"seed":null,"finish_reason":"length"}',
    ];
    expect((await convertRows(lines)).lines).toEqual([`{"trajectories":[${stopped},${cut}]}`]);
  });

  it.each([
    ["GZIP" as const, gzipSync],
    ["BROTLI" as const, brotliCompressSync],
    ["SNAPPY" as const, undefined],
  ])("keep times, bytes and -0 of Parquet, compressed with %s", async (codec, compress) => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = [
      ...["prompt", "completion"].map((name) => ({ name, data: ["a"], type: "STRING" as const })),
      { name: "reward", data: [-0], type: "DOUBLE" as const },
      { name: "time", data: [new Date(0)], type: "TIMESTAMP" as const },
      { name: "image", data: [new Uint8Array([1, 255])], type: "BYTE_ARRAY" as const },
    ];
    const compressors = compress && { [codec]: compress };
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData, codec, ...(compressors && { compressors }) })));
    const kept = '"image":"Af8=","reward":-0,"metadata":{"time":"1970-01-01T00:00:00.000Z"}';
    expect((await convertFile(file)).lines.join()).toContain(kept);
  });

  it("of an empty shard in Parquet are reported as an input without groups", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = ["prompt", "completion"].map((name) => ({ name, data: [], type: "STRING" as const }));
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData })));
    const { code, stderr } = await runRollcall(["check", file]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("the input has no groups")]);
  });

  it("name the row of Parquet whose unknown group makes another group ambiguous", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = [
      { name: "prompt", data: ["q", "q", null], type: "STRING" as const },
      { name: "completion", data: ["a", "b", "c"], type: "STRING" as const },
      { name: "reward", data: [1, 0.5, 0], type: "DOUBLE" as const },
    ];
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData })));
    const { stderr } = await convertFile(file, ["--on-invalid", "skip"]);
    expect(stderr).toContain(`row 3 of ${file} has an unknown group and may belong to this group`);
  });

  it("are refused in Parquet for NaN as the reward", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = [
      { name: "prompt", data: ["q", "q"], type: "STRING" as const },
      { name: "completion", data: ["a", "b"], type: "STRING" as const },
      { name: "exact", data: [1, Number.NaN], type: "DOUBLE" as const },
    ];
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData })));
    const refused = await runRollcall(["check", file, "--reward-from", "exact"]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("NaN is not JSON [json-not-finite]")]);
  });

  it("are left out if the reward function of TRL did not rate them, with null or NaN in Parquet", async () => {
    const folder = mkdtempSync(join(tmpdir(), "trl-"));
    const writeStep = (step: number, exact: readonly (number | null)[], name = "exact") => {
      const columnData = [
        { name: "step", data: exact.map(() => step), type: "INT32" as const },
        { name: "prompt", data: exact.map(() => "q"), type: "STRING" as const },
        { name: "completion", data: exact.map((_, at) => `a${at}`), type: "STRING" as const },
        { name, data: [...exact], type: "DOUBLE" as const, nullable: true },
        { name: "advantage", data: exact.map(() => 0), type: "DOUBLE" as const },
      ];
      const file = join(folder, `completions_0000${step}.parquet`);
      writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData })));
    };
    writeStep(1, [null, 1, Number.NaN, 0]);
    const converted = await convertFile(folder, ["--reward-from", "exact"]);
    expect(JSON.parse(converted.lines[0] ?? "").trajectories).toMatchObject([{ reward: 1 }, { reward: 0 }]);
    expect(converted.stderr).toContain("left out a completion that the reward function did not rate (2 times)");
    writeStep(2, [1, 1], "exacd");
    const { stderr } = await convertFile(folder, ["--reward-from", "exact", "--on-invalid", "skip"]);
    expect(stderr).toContain("00002.parquet#row 1:1: error: cannot convert this trl record: no row of the file has");
  });

  const listOf = (name: string, type: "BYTE_ARRAY" | "DOUBLE"): SchemaElement[] => [
    { name, num_children: 1, converted_type: "LIST", repetition_type: "OPTIONAL" },
    { name: "list", num_children: 1, repetition_type: "REPEATED" },
    { name: "element", type, repetition_type: "OPTIONAL", ...(type === "DOUBLE" ? {} : { converted_type: "UTF8" }) },
  ];
  const schema: SchemaElement[] = [
    { name: "root", num_children: 3, repetition_type: "REQUIRED" },
    { name: "prompt", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
    ...listOf("completions", "BYTE_ARRAY"),
    ...listOf("rewards", "DOUBLE"),
  ];

  it("are refused for a reward that is null in a list of Parquet, and for a text that is not UTF-8", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "trl-")), "completions.parquet");
    const columnData = [
      { name: "prompt", data: ["q", "r", "s"] },
      { name: "completions", data: ["a", "b", "\u00a7"].map((text) => [text, "c"]) },
      {
        name: "rewards",
        data: [
          [1, 0],
          [1, null],
          [1, 0],
        ],
      },
    ];
    const bytes = Buffer.from(parquetWriteBuffer({ schema, columnData, codec: "UNCOMPRESSED", statistics: false }));
    writeFileSync(file, bytes.fill(0xff, bytes.indexOf("\u00a7"), bytes.indexOf("\u00a7") + 1));
    const { code, stdout } = await runRollcall(["check", file, "--json", "--fields", "groups,problems"]);
    const { groups, problems } = JSON.parse(stdout);
    expect([code, groups]).toEqual([3, { read: 3, rejected: 2 }]);
    expect(problems).toMatchObject([
      { file: `${file}#row 2`, message: expect.stringContaining("rewards.1 is not a number") },
      { file: `${file}#row 3`, path: ["completions"], message: expect.stringContaining("bytes that are not UTF-8") },
    ]);
  });

  it("are refused once for NaN in a row with several completions", async () => {
    const row = { prompt: "q", completions: ["a", "b"], rewards: [1, 0], more: "NaN" };
    const { stderr } = await convertRows([JSON.stringify(row).replace('"NaN"', "NaN")]);
    expect(stderr).toMatch(/^rollcall: \S+:1:\d+: NaN is not JSON \[json-not-finite\]$/m);
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
    expect([code, stderr]).toEqual([3, expect.stringContaining("cannot read a Parquet file: ")]);
  });
});
