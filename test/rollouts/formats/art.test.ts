import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetMetadata, type SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";
import { convertFile } from "./converting.ts";
import { turn, user } from "./records.ts";

const sample = "test/samples/formats/art-v2.airline.parquet";
const groups = "test/samples/airline.groups.jsonl";

const bufferOf = (file: string): ArrayBuffer => Uint8Array.from(readFileSync(file)).buffer;

const schema: SchemaElement[] = [
  { name: "schema", num_children: 6, repetition_type: "REQUIRED" },
  { name: "format_version", type: "INT32", repetition_type: "OPTIONAL" },
  { name: "group_index", type: "INT64", repetition_type: "OPTIONAL" },
  { name: "trajectory_index", type: "INT64", repetition_type: "OPTIONAL" },
  ...["group_json", "trajectory_json", "metrics"].map(
    (name): SchemaElement => ({ name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" }),
  ),
];

type Row = Readonly<Record<string, number | bigint | string | null>>;

/** A number in the variable length of Thrift. */
const digitsOf = (value: number): Buffer => {
  const digits: number[] = [];
  for (let left = 2 * value; left > 0; left = Math.floor(left / 128)) digits.push((left % 128) | 128);
  digits.push((digits.pop() ?? 0) & 127);
  return Buffer.from(digits);
};

interface ClaimedPage {
  readonly values: number;
  /** The run of its levels. Default: nulls. */
  readonly run?: readonly number[];
  /** The bit width of positions in a dictionary, and their run. */
  readonly positions?: readonly number[];
  /** The number of its encoding. Default: plain, or positions in a dictionary. */
  readonly encoding?: number;
}

/** Writes rows into a Parquet file, each in its own row group; missing values are null. */
const parquetOf = (
  rows: readonly Row[],
  {
    claimedBytes,
    page: claimed,
    declaredValues = 1n,
    schema: columns = schema,
  }: {
    readonly schema?: SchemaElement[];
    readonly claimedBytes?: bigint;
    readonly page?: ClaimedPage;
    readonly declaredValues?: bigint;
  } = {},
): string => {
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema: columns });
  for (const row of rows) {
    const columnData = columns.slice(1).map(({ name }) => ({ name, data: [row[name] ?? null] }));
    file.write({ columnData });
  }
  for (const group of file.row_groups) group.total_byte_size = claimedBytes ?? group.total_byte_size;
  if (claimed !== undefined) {
    const column = file.row_groups[0]?.columns[0]?.meta_data;
    const { values, run = [...digitsOf(values), 0], positions, encoding = positions === undefined ? 0 : 8 } = claimed;
    const content = [run.length, 0, 0, 0, ...run, ...(positions ?? [])];
    // The first bytes are the page's type and sizes. Then come the number of values and their encoding.
    const sizes = [0x15, 0, 0x15, ...digitsOf(content.length), 0x15, ...digitsOf(content.length)];
    const header = [...sizes, 0x2c, 0x15, ...digitsOf(values), 0x15, 2 * encoding, 0x15, 6, 0x15, 6, 0, 0];
    const page = Buffer.from([...header, ...content]);
    const at = BigInt(writer.offset);
    writer.appendBytes(page);
    if (column)
      Object.assign(column, {
        data_page_offset: at,
        total_compressed_size: BigInt(page.length),
        codec: "UNCOMPRESSED",
        num_values: declaredValues,
      });
  }
  file.finish();
  const path = join(mkdtempSync(join(tmpdir(), "art-")), "rollouts.parquet");
  writeFileSync(path, writer.getBytes());
  return path;
};

/** Changes the declared decompressed size of the page of a column. */
const claiming = (file: string, length: number): string => {
  const bytes = readFileSync(file);
  const [group] = parquetMetadata(bufferOf(file)).row_groups;
  const column = group?.columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === "trajectory_json");
  const start = Number(column?.meta_data?.data_page_offset);
  const size = Number(column?.meta_data?.total_compressed_size);
  // The page's type, its decompressed size and its bytes, each after the byte of its field.
  const behind = (at: number) => at + bytes.subarray(at).findIndex((byte) => byte < 128) + 1;
  const [own, packed] = [start + 3, behind(start + 3) + 1];
  const said = bytes.subarray(packed, behind(packed)).reduceRight((sum, byte) => sum * 128 + (byte & 127), 0) / 2;
  // The page is shorter by the additional length of the header.
  const left = digitsOf(said - digitsOf(length).length + (packed - 1 - own));
  const header = [bytes.subarray(start, own), digitsOf(length), bytes.subarray(packed - 1, packed), left];
  const page = Buffer.concat([...header, bytes.subarray(behind(packed), start + size)]).subarray(0, size);
  writeFileSync(file, Buffer.concat([bytes.subarray(0, start), page, bytes.subarray(start + size)]));
  return file;
};

const made = (reward: string) =>
  `{"messages_and_choices":[${JSON.stringify(user("h\u00e9"))}, ${JSON.stringify(turn("\\u00e9"))}],"reward":${reward},"seed":12345678901234567890}`;

const rowOf = (group: number, index: number | null, more: Row = {}): Row => ({
  format_version: 2,
  group_index: BigInt(group),
  trajectory_index: index === null ? null : BigInt(index),
  group_json: "{}",
  trajectory_json: index === null ? null : made(`${index}.50`),
  ...more,
});

/** Returns the errors of rows, without the folder of the file. */
const wrongIn = async (rows: readonly Row[]): Promise<readonly string[]> => {
  const { code, stderr } = await convertFile(parquetOf(rows));
  expect(code).toBe(3);
  return stderr.split("\n").flatMap((line) => /rollouts\.parquet(.*) \[record-invalid\]$/.exec(line)?.[1] ?? []);
};

describe("a Parquet file of ART", () => {
  it("is converted byte for byte, with every value of the sample", async () => {
    const { code, lines, notes } = await convertFile(sample);
    expect(code).toBe(0);
    expect(lines).toEqual(readFileSync(groups, "utf8").split("\n").slice(0, 4));
    expect(notes[0]).toContain(
      "the input was read as ART's Parquet, or lines with exchanges (--from art), grouped by group_index: 4 groups of 4",
    );
  });

  it("keeps the keys of groups, groups without trajectories, digits, escapes and white space", async () => {
    const json = '{"metadata":{"id":9007199254740993}, "exceptions":[{"type":"E","message":"m"}]}';
    const file = parquetOf([
      rowOf(0, 0, { group_json: json }),
      rowOf(0, 1, { group_json: json }),
      rowOf(1, null, { group_json: '{"logs":["l"]}' }),
      rowOf(2, 0, { trajectory_json: '{"reward":1,"additional_histories":[{"tools":null}],"exchanges":{"chat":[]}}' }),
    ]);
    const { code, lines } = await convertFile(file);
    expect({ code, lines }).toEqual({
      code: 0,
      lines: [
        `{"trajectories":[${made("0.50")},${made("1.50")}],"metadata":{"id":9007199254740993},"exceptions":[{"type":"E","message":"m"}]}`,
        '{"trajectories":[],"logs":["l"]}',
        '{"trajectories":[{"reward":1,"additional_histories":[{"tools":null,"messages_and_choices":[]}],"exchanges":{"chat":[]},"messages_and_choices":[]}]}',
      ],
    });
  });

  it("has the choices of its exchanges, and the reward of its column if the JSON leaves out 0", async () => {
    const exchange = (messages: readonly object[], content: string, start: number) => ({
      request: { model: "m", messages },
      response: { choices: [{ finish_reason: "stop", index: 0, message: { role: "assistant", content } }] },
      start_time: `2026-01-01T00:00:0${start}Z`,
    });
    const again = [user("q"), { role: "assistant", content: "a" }, user("r")];
    const json = { exchanges: { chat_completions: [exchange(again, "b", 1), exchange([user("q")], "a", 0)] } };
    const named = [...schema, { name: "reward", type: "DOUBLE", repetition_type: "OPTIONAL" } as const];
    const rows = [{ ...rowOf(0, 0, { trajectory_json: JSON.stringify(json) }), reward: 0 }];
    const { lines } = await convertFile(
      parquetOf(rows, {
        schema: [{ name: "schema", num_children: 7, repetition_type: "REQUIRED" }, ...named.slice(1)],
      }),
    );
    expect(lines.map((line) => JSON.parse(line).trajectories)).toEqual([
      [
        {
          reward: 0,
          messages_and_choices: [user("q"), turn("a"), user("r"), turn("b")],
          start_time: "2026-01-01T00:00:00Z",
        },
      ],
    ]);
  });

  it("is converted to one line per group, also for a trajectory on several lines", async () => {
    const json = '{"messages_and_choices": [],\n "reward": 1,\r\n "logs": ["a\\nb"]}';
    const { lines } = await convertFile(parquetOf([rowOf(0, 0, { trajectory_json: json })]));
    expect(lines).toEqual([`{"trajectories":[${json.replaceAll("\n", " ")}]}`]);
  });

  it("keeps the order of a group's trajectories if its rows are in another order", async () => {
    const { lines } = await convertFile(parquetOf([rowOf(1, 0), rowOf(0, 2), rowOf(0, 0), rowOf(0, 1)]));
    const rewards = lines.map((line) => JSON.parse(line).trajectories.map(({ reward }: { reward: number }) => reward));
    expect(rewards).toEqual([[0.5], [0.5, 1.5, 2.5]]);
  });

  it("is converted from its JSON alone, whatever the columns for queries contain", async () => {
    const { lines } = await convertFile(parquetOf([rowOf(0, 0, { metrics: '{"edited":1}' })]));
    expect(lines).toEqual([`{"trajectories":[${made("0.50")}]}`]);
  });

  it("gets rewards from the column of --reward-from or the file of --rewards", async () => {
    const rewards = join(mkdtempSync(join(tmpdir(), "art-")), "rewards.jsonl");
    writeFileSync(rewards, '{"id":"0/0","reward":7.0}\n');
    const file = parquetOf([rowOf(0, 0)]);
    expect((await convertFile(file, ["--rewards", rewards])).lines[0]).toContain('"reward":7.0');
    expect((await convertFile(file, ["--reward-from", "seed"])).lines[0]).toContain('"reward":12345678901234567890');
  });

  it("has problems with their rows", async () => {
    const of = (trajectory_json: string) => ({ trajectory_json });
    const rows = [
      rowOf(0, 0, of('{"reward":1')),
      rowOf(1, 0, { group_json: '{"trajectories":[]}' }),
      rowOf(2, 0, of('{"reward":1,"exchanges":[{"request":{}}]}')),
      rowOf(3, null, of(made("1"))),
      rowOf(4, 0, of('{"messages_and_choices":[]}')),
      rowOf(5, 0, { trajectory_json: null }),
    ];
    expect(await wrongIn(rows)).toEqual([
      "#row 1: error: trajectory_json: cannot convert this art record: the string is not a JSON object",
      "#row 2: error: group_json.trajectories: cannot convert this art record: group_json contains trajectories",
      "#row 3: error: trajectory_json.exchanges: cannot convert this art record: exchanges is not an object with lists",
      "#row 4: error: cannot convert this art record: the row has trajectory_json, but no trajectory_index",
      "#row 5: error: trajectory_json: cannot convert this art record: the reward is missing",
      "#row 6: error: cannot convert this art record: `trajectory_json` is missing",
    ]);
  });

  it("is refused if a row is repeated", async () => {
    const { code, stderr } = await convertFile(parquetOf([rowOf(0, 0), rowOf(0, 1), rowOf(0, 1)]));
    expect([code, stderr]).toEqual([3, expect.stringMatching(/#row 2:1 \[duplicate-rollout\]/)]);
  });

  it("is refused with its version if the version is unknown", async () => {
    expect(await wrongIn([rowOf(0, 0, { format_version: 3 }), rowOf(0, 1, { format_version: 3 })])).toEqual([
      "#row 1: format_version: cannot convert this art record: expected version 2, found version 3",
    ]);
    expect(await wrongIn([rowOf(0, 0, { format_version: null })])).toEqual([
      "#row 1: cannot convert this art record: expected version 2, found version 1, without finish_reason and logprobs",
    ]);
    const { stderr } = await convertFile(parquetOf([rowOf(0, 0, { format_version: 1 })]));
    expect(stderr).toContain("format_version: cannot convert this art record: expected version 2, found version 1, ");
    expect(stderr).toContain(
      "write the file again with read_trajectory_groups_parquet and write_trajectory_groups_parquet",
    );
  });

  it("has problems of trajectories with the row and the path within the JSON", async () => {
    const broken = rowOf(0, 1, {
      trajectory_json: '{"messages_and_choices":[{"role":"user","content":5}],"reward":1}',
    });
    const { stdout } = await runRollcall(["check", parquetOf([rowOf(0, 0), broken]), "--json"]);
    const problem = JSON.parse(stdout).problems.find(({ rule }: { rule: string }) => rule === "element-type");
    expect(problem.file).toMatch(/rollouts\.parquet#row 2$/);
    expect(problem).toMatchObject({ path: ["trajectory_json", "messages_and_choices", 0, "content"] });
    expect(Object.keys(problem)).not.toContain("line");
  });

  it("causes one problem if it is damaged or has too large a row group", async () => {
    const large = parquetOf([rowOf(0, 0)], { claimedBytes: 300n * 2n ** 20n });
    const tooLarge = "its row group 1 decompresses to 300 MiB, over the limit of 256 MiB";
    expect((await convertFile(large, ["--from", "art"])).stderr).toContain(
      `rollouts.parquet: cannot convert this art record: ${tooLarge} [record-invalid]\nhint: write smaller row groups`,
    );
    expect((await convertFile(large)).stderr).toContain(
      `cannot read a Parquet file: ${tooLarge} [not-json]\nhint: write smaller row groups`,
    );
    const cut = parquetOf([rowOf(0, 0)]);
    writeFileSync(cut, readFileSync(cut).subarray(0, -40));
    expect((await convertFile(cut)).stderr).toContain("cannot read a Parquet file: it is cut off or damaged");
    expect((await convertFile(cut)).stderr).not.toMatch(/cannot be read.*cannot be read/s);
    const named = await convertFile(cut, ["--from", "art"]);
    expect(named.code).toBe(3);
    expect(named.stderr).toContain("rollouts.parquet: cannot convert this art record: it is cut off or damaged");
    const noFrame = readFileSync(sample);
    noFrame.fill(0, noFrame.indexOf("28b52ffd", 0, "hex"), noFrame.indexOf("28b52ffd", 0, "hex") + 4);
    writeFileSync(cut, noFrame);
    expect((await convertFile(cut)).stderr).toContain("(invalid zstd data)");
  });

  it("is not decompressed beyond the limit, or beyond its stated size", async () => {
    const env = { ROLLCALL_MAX_UNPACKED_SIZE: "1000" };
    const bounded = await runRollcall(["check", sample], { env });
    expect([bounded.code, bounded.stderr]).toEqual([3, expect.stringContaining("more than 1000 bytes")]);
    const { stderr } = await convertFile(claiming(parquetOf([rowOf(0, 0)]), 2 ** 30), ["--from", "art"]);
    expect(stderr).toContain("(a row group decompresses to more than it declares");
  });

  it("is refused if a page claims more values than its column", async () => {
    const { code, stderr } = await convertFile(parquetOf([rowOf(0, 0)], { page: { values: 2 ** 30 } }), [
      "--from",
      "art",
    ]);
    expect(code).toBe(3);
    expect(stderr).toContain("(a page of the column format_version claims more values than the column has (1)");
    const many = parquetOf([rowOf(0, 0)], { page: { values: 2 ** 24 }, declaredValues: 2n ** 24n });
    expect((await convertFile(many, ["--from", "art"])).stderr).toMatch(
      /a row group claims 16777220 values in \d+ bytes/,
    );
  });

  it("is refused if the lists of its footer claim more elements than it can have", async () => {
    // Field 1 is a list of lists of 33,554,431 elements, 100 levels deep.
    const lists = Buffer.concat(Array.from({ length: 100 }, () => Buffer.from([0xf9, 255, 255, 255, 15])));
    const size = Buffer.alloc(4);
    size.writeUInt32LE(1 + lists.length);
    const file = join(mkdtempSync(join(tmpdir(), "art-")), "rollouts.parquet");
    writeFileSync(file, Buffer.concat([Buffer.from("PAR1"), Buffer.of(0x19), lists, size, Buffer.from("PAR1")]));
    const { code, stderr } = await runRollcall(["check", file]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("its lists claim more than 1048576 elements")]);
  });

  it("is refused if its texts share prefixes", async () => {
    const { code, stderr } = await convertFile(parquetOf([rowOf(0, 0)], { page: { values: 1, encoding: 7 } }));
    expect([code, stderr]).toEqual([3, expect.stringContaining("unsupported encoding: DELTA_BYTE_ARRAY")]);
  });

  it.each([
    ["repeated levels", { run: [...digitsOf(2 ** 30), 0] }, 2 ** 30],
    ["packed levels", { run: [255, 255, 255, 255, 15] }, 2 ** 32 - 8],
    ["repeated positions in a dictionary", { run: [2, 1], positions: [1, ...digitsOf(2 ** 30), 0] }, 2 ** 30],
    ["packed positions without bits", { run: [2, 1], positions: [0, 255, 255, 255, 255, 15] }, 2 ** 32 - 8],
  ])("is refused if a run of %s claims more values than its page", async (_, page, claimed) => {
    const file = parquetOf([rowOf(0, 0)], { page: { values: 1, ...page } });
    const { code, stderr } = await convertFile(file, ["--from", "art"]);
    expect(code).toBe(3);
    expect(stderr).toContain(`(a run of a page claims ${claimed} values, but the page has 1`);
  });

  it("is refused with --from rollcall, as is a Parquet file of another tool", async () => {
    const { stderr } = await runRollcall(["check", sample, "--from", "rollcall"]);
    expect(stderr).toMatch(/expected JSON lines, found a Parquet file.*\nhint: correct or omit --from\n/);
    const other = parquetOf([{ metrics: "{}" }]);
    expect((await runRollcall(["check", other])).stderr).toContain(
      "records with only the key metrics [unknown-format]",
    );
  });
});

it("a key does not divide groups that are recorded", async () => {
  const check = async (...args: readonly string[]) =>
    JSON.parse((await runHere(["check", sample, "--json", ...args])).stdout);
  const [keyed, plain] = [await check("--group-by", "task_id"), await check()];
  expect([keyed.problems, keyed.groups]).toEqual([plain.problems, plain.groups]);
});
