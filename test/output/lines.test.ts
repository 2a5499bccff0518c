import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRawJson, toRawJson } from "../../src/json/raw-json.ts";
import { printList } from "../../src/output/list.ts";
import type { Column } from "../../src/output/views.ts";
import { testHost } from "../support/host.ts";
import { type ScreenFlags, screenOn } from "./printed-text.ts";

type Row = Readonly<Record<string, unknown>>;

const column = (name: string): Column<Row> => ({
  name,
  heading: `the ${name}\n$/M`,
  rank: 0,
  cell: (row, spelled) => (row[name] === undefined ? "" : `<${spelled()}>`),
  value: (row) => row[name],
});

const columns = ["id", "n", "tags", "p.x"].map(column);

const printed = async (rows: readonly Row[], typed: ScreenFlags, json = JSON.stringify({ data: rows })) => {
  const host = testHost();
  const printed = { document: parseRawJson(json), member: "data" };
  await printList(screenOn(host, typed), { columns, rows, json: printed });
  return host.printed();
};

/** Reads CSV by the rules of RFC 4180. */
const readCsv = (text: string): readonly (readonly string[])[] => {
  const records: string[][] = [];
  let record: string[] = [];
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "\r\n") {
      records.push(record);
      record = [];
    }
  }
  return records;
};

/** Text of which rollcall changes only line ends. Other tests cover removed characters. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(",", '"', "\n", "\r", "\r\n", " ", ";", "=", "é", "鍵", "👩‍🚀"),
    fc.stringMatching(/^[ -~]$/),
  ),
});

/** A CR would end a record for programs that read CSV line by line. */
const withoutCr = (value: string): string => value.replace(/\r\n?/g, "\n");

describe("csv", () => {
  it("can be parsed to its original values", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ id: text, tags: fc.array(text.filter((one) => !one.includes(";"))) })),
        async (rows) => {
          const [header, ...records] = readCsv(await printed(rows, { output: "csv" }));
          expect(header).toEqual(["id", "n", "tags", "p.x"]);
          const meant = rows.map(({ id, tags }) => [withoutCr(id), "", withoutCr(tags.join(";")), ""]);
          expect(records).toEqual(meant);
        },
      ),
    );
  });

  it("keeps the spelling of numbers, and leaves the cell of an absent value empty", async () => {
    const json =
      '{"data":[{"id":"a","n":9007199254740993,"p":{"x":"1e-7"}},{"id":null,"n":0.0,"tags":[]},{"n":"free","tags":[1.0,{"k":"v"},{"a":1,"b":2}]}]}';
    expect(await printed([{}, {}, {}], { output: "csv" }, json)).toBe(
      'id,n,tags,p.x\r\na,9007199254740993,,1e-7\r\n,0.0,,\r\n,free,"1.0;v;{""a"":1,""b"":2}",\r\n',
    );
  });

  // Programs that read CSV trim blanks at the ends of a cell, and end a record at a CR.
  it.each([
    [" a", '" a"'],
    ["a ", '"a "'],
    ["a\tb", "a\tb"],
    ["\ta", '"\ta"'],
    ["a\rb", '"a\nb"'],
    ["a\r\nb", '"a\nb"'],
    ['a"b', '"a""b"'],
  ])("quotes a cell that a reader of CSV would change (row %$)", async (id, cell) => {
    expect(await printed([{ id }], { output: "csv", fields: "id" })).toBe(`id\r\n${cell}\r\n`);
  });

  it("has the fields and values of each row together after the first 100 rows", async () => {
    const rows = Array.from({ length: 201 }, (_, at) => ({ id: `${at}`, own: at }));
    const records = readCsv(await printed(rows, { output: "csv", fields: "id,own" }));
    expect(records.slice(1)).toEqual(rows.map(({ id }) => [id, id]));
  });

  it("has, if the reply is damaged, the value above the path of a column, unless the value is an object", async () => {
    const rows = [7, 7, 7, undefined].map((value) => ({ "p.x": value }));
    const json = '{"data":[{"p":1.0},{"p":{"y":1}},{"p":null},{"p":1.0}]}';
    expect(await printed(rows, { output: "csv", fields: "p.x" }, json)).toBe("p.x\r\n1.0\r\n7\r\n7\r\n\r\n");
  });

  it("has only a header without rows", async () => {
    expect(await printed([], { output: "csv" })).toBe("id,n,tags,p.x\r\n");
  });

  it("has the requested columns, also columns of unknown keys", async () => {
    const json = '{"data":[{"id":"a","odd":{"deep":[{"k":1.50},{"k":2}]}}]}';
    expect(await printed([{}], { output: "csv", fields: "odd.deep.k,id" }, json)).toBe("odd.deep.k,id\r\n1.50;2,a\r\n");
    await expect(printed([{}], { output: "csv", fields: "odd.dep" }, json)).rejects.toMatchObject({
      kind: "invalid-option-value",
    });
  });
});

describe("tsv", () => {
  it("has one record per line and one cell per column for any text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ id: fc.string() }), { minLength: 1 }), async (rows) => {
        const lines = (await printed(rows, { output: "tsv" })).split("\n");
        expect(lines).toHaveLength(rows.length + 1);
        for (const line of lines.slice(0, -1)) expect(line.split("\t")).toHaveLength(columns.length);
      }),
    );
  });

  it("cuts nothing, and has a header only with --header", async () => {
    const long = "x".repeat(10_000);
    expect(await printed([{ id: long }], {})).toBe(`<${long}>\t\t\t\n`);
    expect(await printed([{ id: "a" }], { header: true })).toBe(
      "the id $/M\tthe n $/M\tthe tags $/M\tthe p.x $/M\n<a>\t\t\t\n",
    );
  });

  it("has no color, even if color is forced", async () => {
    const host = testHost({ env: { FORCE_COLOR: "1" } });
    const marked = { ...column("id"), tag: () => ({ text: "past", tone: "bad" as const }) };
    const printed = { document: toRawJson({ data: [{ id: "a" }] }), member: "data" };
    await printList(screenOn(host), {
      columns: [marked],
      rows: [{ id: "a" }],
      json: printed,
    });
    expect(host.printed()).toBe("<a>\n");
  });
});
