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

describe("tsv", () => {
  it("keeps the spelling of numbers, and leaves the cell of an absent value empty", async () => {
    const json =
      '{"data":[{"id":"a","n":9007199254740993,"p":{"x":"1e-7"}},{"id":null,"n":0.0,"tags":[]},{"n":"free","tags":[1.0,{"k":"v"}]}]}';
    const rows: readonly Row[] = JSON.parse(json).data;
    expect(await printed(rows, { fields: "id,n,tags,p.x" }, json)).toMatch(/^<a>\t<9007199254740993>\t/);
  });

  it("has the requested columns, also columns of unknown keys", async () => {
    const json = '{"data":[{"id":"a","odd":{"deep":[{"k":1.50},{"k":2}]}}]}';
    expect(await printed([{ id: "a" }], { fields: "odd.deep.k,id" }, json)).toBe("1.50;2\t<a>\n");
    await expect(printed([{}], { fields: "odd.dep" }, json)).rejects.toMatchObject({ kind: "invalid-option-value" });
  });

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
