import { parquetMetadata } from "hyparquet";
import { parquetWriteBuffer, type SchemaElement } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { openRecords } from "../../../src/rollouts/input/records.ts";
import { openMemoryBytes, type RawRecord } from "../../../src/rollouts/input/source.ts";

type ColumnData = Parameters<typeof parquetWriteBuffer>[0]["columnData"];

/** Each row group has two rows, and each page of a column has few values. */
const write = (columnData: ColumnData, schema?: SchemaElement[]) =>
  Buffer.from(parquetWriteBuffer({ columnData, ...(schema && { schema }), rowGroupSize: 2, pageSize: 16 }));

const open = async (content: Buffer, columns?: readonly string[]) =>
  await openRecords(
    { name: "a.parquet", bytes: openMemoryBytes(content) },
    { parquet: columns ?? true },
    { maxUnpackedBytes: 2 ** 30, signal: new AbortController().signal },
  );

const show = (record: RawRecord | undefined) =>
  record && [record.label, record.line, record.fault ?? record.bytes.toString()];

const readAll = async ({ batches }: Awaited<ReturnType<typeof open>>) => {
  const found: unknown[] = [];
  for await (const batch of batches()) found.push(Array.from(batch, show));
  return found;
};

const long = "x".repeat(65);
const schema: SchemaElement[] = [
  { name: "root", num_children: 3, repetition_type: "REQUIRED" },
  { name: "id", type: "INT32", repetition_type: "REQUIRED" },
  { name: "text", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
  { name: "list", num_children: 1, converted_type: "LIST", repetition_type: "OPTIONAL" },
  { name: "list", num_children: 1, repetition_type: "REPEATED" },
  { name: "element", type: "DOUBLE", repetition_type: "OPTIONAL" },
];
const columnData: ColumnData = [
  { name: "id", data: [1, 2, 3, 4, 5] },
  { name: "text", data: ["a", long, null, `\ufeff${long}`, "\ufeffé\n"] },
  { name: "list", data: [[1], [], null, [2, null], [3, 4]] },
];
const rows = [
  '{"id":1,"text":"a","list":[1]}',
  `{"id":2,"text":"${long}","list":[]}`,
  '{"id":3}',
  `{"id":4,"text":"${long}","list":[2,null]}`,
  '{"id":5,"text":"é\\n","list":[3,4]}',
];

describe("the rows of a Parquet file", () => {
  const all = rows.map((row, at) => [`a.parquet#row ${at + 1}`, 1, row]);

  it("are read by row groups, and again in any order", async () => {
    const records = await open(write(columnData, schema));
    expect(show(await records.readFirst?.())).toEqual(all[0]);
    for (const _ of [1, 2]) expect(await readAll(records)).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
    for (const at of [4, 0, 1, 3, 2, 5]) expect(show(await records.reread(at))).toEqual(all[at]);
    expect(records.locate(3)).toEqual({ label: "a.parquet#row 4", line: 1 });
  });

  it("have only the named columns that the file has", async () => {
    const records = await open(write(columnData, schema), ["list", "none", "id"]);
    expect(show(await records.reread(3))?.[2]).toBe('{"id":4,"list":[2,null]}');
  });

  it("end with a record of the fault if a row group is damaged", async () => {
    const content = write(columnData, schema);
    const [, damaged] = parquetMetadata(Uint8Array.from(content).buffer).row_groups;
    const start = Number(damaged?.columns[1]?.meta_data?.data_page_offset);
    content.fill(0xff, start, start + 8);
    const records = await open(content);
    const [first, ...others] = await readAll(records);
    const fault = ["a.parquet", 1, expect.stringMatching(/^it is cut off or damaged/)];
    expect([first, others]).toEqual([all.slice(0, 2), [[fault]]]);
    expect([show(await records.reread(2)), show(await records.reread(1))]).toEqual([fault, all[1]]);
    expect([2, 1].map((at) => records.locate(at).label)).toEqual(["a.parquet", "a.parquet#row 2"]);
  });

  it("are JSON if only the newer name of a column's type says so", async () => {
    const column: SchemaElement = { name: "v", type: "BYTE_ARRAY", repetition_type: "OPTIONAL" };
    const root: SchemaElement = { name: "root", num_children: 1, repetition_type: "REQUIRED" };
    const bytes = write([{ name: "v", data: ['{"a":1}'] }], [root, { ...column, logical_type: { type: "JSON" } }]);
    expect(await readAll(await open(bytes))).toEqual([[["a.parquet#row 1", 1, '{"v":{"a":1}}']]]);
  });

  it.each<[type: ColumnData[number]["type"], values: readonly unknown[], json: readonly string[]]>([
    ["BOOLEAN", [true, false], ["true", "false"]],
    ["INT64", [9007199254740993n, -1n], ["9007199254740993", "-1"]],
    ["DOUBLE", [-0, Number.NaN], ["-0", '"NaN"']],
    ["DOUBLE", [Number.NEGATIVE_INFINITY, 0.1], ['"-Infinity"', "0.1"]],
    ["TIMESTAMP", [new Date(1), new Date(86_400_000)], ['"1970-01-01T00:00:00.001Z"', '"1970-01-02T00:00:00.000Z"']],
    ["BYTE_ARRAY", [Uint8Array.of(255, 0), Uint8Array.of(128)], ['"/wA="', '"gA=="']],
    ["JSON", [{ a: [1] }, "b"], ['{"a":[1]}', '"b"']],
  ])("have values of the type %s as JSON", async (type, values, json) => {
    const records = await open(write([{ name: "v", data: [...values], ...(type && { type }) }]));
    expect(await readAll(records)).toEqual([json.map((one, at) => [`a.parquet#row ${at + 1}`, 1, `{"v":${one}}`])]);
  });

  it.each([
    ["page with more values", "5c150a1500", "5c157e1500", /a page of the column id claims more values than .* \(5\)/],
    ["page with a negative number of nulls", "5c150a1500", "5c150a1501", /a page of the column id claims more values/],
    [
      "run of levels with more values",
      "031b1410",
      "fe7f1410",
      /a run of a page claims 8191 values, but the page has 5/,
    ],
    ["page of a negative size", "152c5c150a1500", "152b5c150a1500", /a page of the column id claims more values/],
  ])("are refused if a column has a %s than it says", async (_, part, forged, fault) => {
    const texts = { name: "text", data: ["a", "b", null, "a", "b"] };
    const root: SchemaElement = { name: "root", num_children: 2, repetition_type: "REQUIRED" };
    const data = { columnData: [...columnData.slice(0, 1), texts], schema: [root, ...schema.slice(1, 3)] };
    const hex = Buffer.from(parquetWriteBuffer(data)).toString("hex");
    expect(hex.split(part)).toHaveLength(2);
    const records = await open(Buffer.from(hex.replace(part, forged), "hex"));
    expect(await readAll(records)).toEqual([[["a.parquet", 1, expect.stringMatching(fault)]]]);
  });

  it.each([
    ["UTF8", [Uint8Array.of(255)], "v"],
    ["UTF8", [Uint8Array.of(65)], undefined],
    ["UTF8", [Buffer.from(long)], undefined],
    [undefined, [Uint8Array.of(255)], undefined],
  ] as const)("name a column that is declared as text and is not UTF-8 (row %$)", async (type, data, name) => {
    const root: SchemaElement = { name: "root", num_children: 1, repetition_type: "REQUIRED" };
    const text = { type: "BYTE_ARRAY", repetition_type: "REQUIRED", ...(type && { converted_type: type }) } as const;
    const list = schema.slice(3, 5).map((element) => ({ ...element, name: "v" }));
    for (const [values, elements] of [
      [[...data], [{ ...text, name: "v" }]],
      [[[...data]], [...list, { ...text, name: "element" }]],
    ] as const) {
      const columns: ColumnData = [{ name: "v", data: [...values] }];
      const record = await (await open(write(columns, [root, ...elements]))).readFirst?.();
      expect([record?.invalidText, record?.fault]).toEqual([name, undefined]);
    }
  });
});
