/** Rows of other tools in Parquet. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { parquetWriteBuffer, type SchemaElement } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { convertFile, convertRows, folderOf } from "./converting.ts";
import { chat, user } from "./records.ts";

type Options = Omit<Parameters<typeof parquetWriteBuffer>[0], "columnData">;
type Columns = Readonly<Record<string, unknown[]>>;
type Data = Parameters<typeof parquetWriteBuffer>[0]["columnData"][number];
type Type = NonNullable<Data["type"]>;

const typeOf = (value: unknown): Type => {
  if (typeof value === "number") return "DOUBLE";
  if (typeof value === "bigint") return "INT64";
  if (typeof value === "string") return "STRING";
  if (value instanceof Date) return "TIMESTAMP";
  return value instanceof Uint8Array ? "BYTE_ARRAY" : "JSON";
};

/** Bytes with these columns, of which the first value that is not null has the type. */
const bytesOf = (columns: Columns, options: Options = {}): Buffer => {
  const columnData = Object.entries(columns).map(([name, data]): Data => {
    if (options.schema !== undefined) return { name, data };
    return { name, data, type: typeOf(data.find((value) => value !== null) ?? ""), nullable: data.includes(null) };
  });
  return Buffer.from(parquetWriteBuffer({ columnData, ...options }));
};

const fileOf = (content: Buffer | Columns, folder = folderOf({}), name = "rows.parquet"): string => {
  const file = join(folder, name);
  writeFileSync(file, Buffer.isBuffer(content) ? content : bytesOf(content as Columns));
  return file;
};

const check = async (file: string, ...args: readonly string[]) => {
  const { code, stderr } = await runHere(["check", file, ...args]);
  return [code, stderr];
};
const refused = (fault: string) => [3, expect.stringContaining(fault)];
const { messages } = chat();

describe("rows in Parquet", () => {
  it("are converted like lines, without keys that are null", async () => {
    const rows = [
      { prompt: "q", completion: "a", reward: 1, seed: 9007199254740993n, finish_reason: "stop" },
      { prompt: "q", completion: "b", reward: 0.5, seed: null, finish_reason: "length" },
    ];
    const keys = ["prompt", "completion", "reward", "seed", "finish_reason"] as const;
    const columns = Object.fromEntries(keys.map((key) => [key, rows.map((row) => row[key])]));
    const lines = rows.map((row) =>
      JSON.stringify({ ...row, seed: row.seed && "@" }).replace('"@"', "9007199254740993"),
    );
    const converted = (await convertFile(fileOf(columns))).lines;
    expect(converted).toEqual((await convertRows(lines)).lines);
    expect(converted.join()).toContain('"reward":0.5,"metadata":{"finish_reason":"length"}}');
    const inText = { messages: [JSON.stringify(messages)], reward: [1] };
    expect((await convertFile(fileOf(inText))).lines).toEqual((await convertRows([chat()])).lines);
  });

  it.each([
    ["GZIP" as const, gzipSync],
    ["BROTLI" as const, brotliCompressSync],
    ["SNAPPY" as const, undefined],
  ])("keep times, bytes and -0, compressed with %s", async (codec, compress) => {
    const others = { reward: [-0], time: [new Date(0)], image: [new Uint8Array([1, 255])] };
    const compressors = compress && { compressors: { [codec]: compress } };
    const file = fileOf(bytesOf({ prompt: ["a"], completion: ["a"], ...others }, { codec, ...compressors }));
    const kept = '"image":"Af8=","reward":-0,"metadata":{"time":"1970-01-01T00:00:00.000Z"}';
    expect((await convertFile(file)).lines.join()).toContain(kept);
  });

  it("are read from columns of JSON byte for byte", async () => {
    const reward = { total: 0.5, format: 1, length: 7 };
    const columns = {
      messages: [messages],
      reward: [reward],
      metadata: [{ k: 123456, nested: { a: 1 } }],
      broken: [[7654321]],
    };
    const text = bytesOf(columns, { codec: "UNCOMPRESSED" }).toString("latin1");
    const file = fileOf(
      Buffer.from(text.replaceAll("123456", "\n 1.50").replaceAll("[7654321]", '{broken"]'), "latin1"),
    );
    const args = ["--reward-from", "reward.total"];
    const row = `{"messages":${JSON.stringify(messages)},"reward":${JSON.stringify(reward)},"broken":"{broken\\"]","metadata":{"k":1.50}}`;
    const { lines } = await convertFile(file, args);
    expect(lines).toEqual((await convertRows([row], args)).lines);
    expect(lines.join()).toContain('"metrics":{"reward.total":0.5,"reward.format":1,"reward.length":7}');
  });

  it("have their failures and metrics", async () => {
    const texts = { prompt: ["q", "q"], completion: ["q", "q"], task: ["q", "q"], error: [null, "late"] };
    const file = fileOf({ example_id: [0, 0], ...texts, reward: [0.5, null], length_reward: [0.25, 0] });
    const { stdout } = await runHere(["stats", file, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ trajectories: 1, exceptions: 1 },
      ...{ reward: { mean: 0.5 }, metrics: { length_reward: { mean: 0.25 } } },
    });
  });

  it("are named by their numbers, in order, with the column that probably has the rewards", async () => {
    const list = [...Array(11).keys()];
    const [, stderr] = await check(fileOf({ messages: list.map(() => messages), score: list }));
    expect(`${stderr}`.match(/row \d+/g)).toEqual([1, 2, 3, 4, 5, 6, 7].map((row) => `row ${row}`));
    expect(stderr).toContain("pass --reward-from score, or --rewards <file>");
  });

  it("that belong to an unknown group make another group ambiguous", async () => {
    const file = fileOf({ prompt: ["q", "q", null], completion: ["a", "b", "c"], reward: [1, 0.5, 0] });
    const { stderr } = await convertFile(file, ["--on-invalid", "skip"]);
    expect(stderr).toContain(`row 3 of ${file} has an unknown group and may belong to this group`);
  });

  it("are left out if the reward function of TRL did not rate them, with null or NaN", async () => {
    const folder = folderOf({});
    const writeStep = (step: number, exact: (number | null)[], name = "exact") => {
      const texts = { prompt: exact.map(() => "q"), completion: exact.map((_, at) => `a${at}`) };
      const columns = { step: exact.map(() => step), ...texts, [name]: exact, advantage: exact.map(() => 0) };
      fileOf(columns, folder, `completions_0000${step}.parquet`);
    };
    writeStep(1, [null, 1, Number.NaN, 0]);
    const converted = await convertFile(folder, ["--reward-from", "exact"]);
    expect(JSON.parse(converted.lines[0] ?? "").trajectories).toMatchObject([{ reward: 1 }, { reward: 0 }]);
    expect(converted.stderr).toContain("left out a completion that the reward function did not rate (2 times)");
    writeStep(2, [1, 1], "exacd");
    const { stderr } = await convertFile(folder, ["--reward-from", "exact", "--on-invalid", "skip"]);
    expect(stderr).toContain("--reward-from finds nothing at the path `exact` (paths of numbers in the record: exacd");
  });

  it("are refused without rows, for NaN as the reward, for other columns and in a damaged schema", async () => {
    const texts = { prompt: ["q", "q"], completion: ["a", "b"] };
    expect(await check(fileOf({ prompt: [], completion: [] }))).toEqual(refused("the input has no groups"));
    const nan = fileOf({ ...texts, exact: [1, Number.NaN] });
    expect(await check(nan, "--reward-from", "exact")).toEqual(refused("NaN is not JSON [json-not-finite]"));
    const unknown = "records with the keys conversation, score [unknown-format]\n";
    const hint = "hint: write `conversation` to the key messages, and pass --from openai-chat --reward-from score";
    const other = fileOf({ conversation: [JSON.stringify(messages)], score: [0.5] });
    expect(await check(other)).toEqual(refused(`${unknown}${hint}`));
    const bytes = bytesOf({ prompt: ["q", "r"], reward: [1, 2] });
    const footer = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
    bytes.fill(0xff, 4, 8).write("rewurd", bytes.indexOf("reward", footer));
    expect(await check(fileOf(bytes))).toEqual(refused("cannot read a Parquet file: "));
  });

  it("are refused if a small file repeats a value too often", async () => {
    const prompts = Array(1000).fill(JSON.stringify([user("x".repeat(200_000))]));
    const columnData = [{ name: "messages", data: prompts, type: "STRING", encoding: "RLE_DICTIONARY" } as const];
    const file = fileOf(Buffer.from(parquetWriteBuffer({ columnData })));
    expect(await check(file, "--from", "openai-chat")).toEqual(refused("its rows decompress to more than 64 MiB"));
  });

  it("are refused for a reward that is null in a list, and for a text that is not UTF-8", async () => {
    const listOf = (name: string, type: "BYTE_ARRAY" | "DOUBLE"): SchemaElement[] => [
      { name, num_children: 1, converted_type: "LIST", repetition_type: "OPTIONAL" },
      { name: "list", num_children: 1, repetition_type: "REPEATED" },
      { name: "element", type, repetition_type: "OPTIONAL", ...(type === "DOUBLE" ? {} : { converted_type: "UTF8" }) },
    ];
    const schema: SchemaElement[] = [
      { name: "root", num_children: 3, repetition_type: "REQUIRED" },
      { name: "prompt", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
      ...[...listOf("completions", "BYTE_ARRAY"), ...listOf("rewards", "DOUBLE")],
    ];
    const completions = ["a", "b", "\u00a7"].map((text) => [text, "c"]);
    const columns = { prompt: ["q", "r", "s"], completions, rewards: [0, null, 0].map((reward) => [1, reward]) };
    const bytes = bytesOf(columns, { schema, codec: "UNCOMPRESSED", statistics: false });
    const file = fileOf(bytes.fill(0xff, bytes.indexOf("\u00a7"), bytes.indexOf("\u00a7") + 1));
    const { code, stdout } = await runHere(["check", file, "--json", "--fields", "groups,problems"]);
    const { groups, problems } = JSON.parse(stdout);
    expect([code, groups]).toEqual([3, { read: 3, rejected: 2 }]);
    expect(problems).toMatchObject([
      { file: `${file}#row 2`, message: expect.stringContaining("rewards.1 is not a number") },
      { file: `${file}#row 3`, path: ["completions"], message: expect.stringContaining("bytes that are not UTF-8") },
    ]);
  });
});
