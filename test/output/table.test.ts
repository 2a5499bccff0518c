import fc from "fast-check";
import stringWidth from "string-width-current";
import { describe, expect, it } from "vitest";
import { toRawJson } from "../../src/json/raw-json.ts";
import { printList } from "../../src/output/list.ts";
import { printPage } from "../../src/output/page.ts";
import { drawTable } from "../../src/output/text-table.ts";
import type { Column } from "../../src/output/views.ts";
import { plainPaint } from "../../src/output/views.ts";
import { testHost } from "../support/host.ts";
import { itHolds } from "../support/property.ts";
import { type ScreenFlags, screenOn } from "./printed-text.ts";

type Row = readonly string[];

const printed = { document: toRawJson({}), member: "data" };

const columnAt = (at: number, about: Partial<Column<Row>> = {}): Column<Row> => ({
  name: `c${at}`,
  heading: `column ${at}`,
  rank: at,
  cell: (row) => row[at] ?? "",
  value: (row) => row[at],
  ...about,
});

const drawn = async (
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, ...typed }: ScreenFlags & { readonly width: number },
): Promise<readonly string[]> => {
  const host = testHost({ terminal: { stdout: true, columns: width }, env: { NO_COLOR: "1" } });
  await printList(screenOn(host, { ...typed }), {
    columns,
    rows,
    json: printed,
  });
  return host.printed().split("\n").slice(0, -1);
};

const wide = fc.string({
  unit: fc.constantFrom(..."abc üßЖω“—", "é", "鍵", "한", "👩‍🚀", "🫠", "e\u0301", "ा", "ｱ", "…", "🇩🇪", "\u200d"),
  maxLength: 60,
});

describe("a table", () => {
  it("rounds to at most 6 significant digits only in columns that ask for it", async () => {
    const rows = [
      ["0.04769999999999999924", "1234567.891"],
      ["12345678", "1e-7"],
      ["-0.00000123456789", "unknown"],
    ];
    const columns = [columnAt(0, { isRounded: true }), columnAt(1)];
    expect((await drawn(columns, rows, { width: 80 })).slice(1).map((line) => line.trim().split(/\s+/))).toEqual([
      ["0.0477", "1234567.891"],
      ["12345678", "1e-7"],
      ["-0.00000123457", "unknown"],
    ]);
  });

  it("shows each column of --fields, also if it does not fit", async () => {
    const columns = [0, 1, 2].map((at) => columnAt(at));
    const rows = [["a".repeat(20), "b".repeat(20), "c".repeat(20)]];
    const lines = await drawn(columns, rows, { width: 50, fields: "c0,c1,c2" });
    expect(lines[1]).toBe(`${"a".repeat(20)}  ${"b".repeat(12)}…  ${"c".repeat(12)}…`);
  });

  it("truncates a text before its tag, unless this leaves less than 8 columns", async () => {
    const columns = [columnAt(0, { tag: () => ({ text: "past", tone: "bad" }) })];
    const last = async (width: number) => (await drawn(columns, [["abcdefghijklmno"]], { width })).at(-1);
    expect([await last(13), await last(12)]).toEqual(["abcdefg… past", "abcdefghijk…"]);
  });

  it("shows the tag of each row of a long list", async () => {
    const tag = ([name]: Row) => (name === "model-120" ? ({ text: "past", tone: "bad" } as const) : undefined);
    const rows = Array.from({ length: 130 }, (_, at) => [`model-${at}`, "x"]);
    const lines = await drawn([columnAt(0, { tag }), columnAt(1)], rows, { width: 80 });
    expect(lines.filter((line) => line.includes("past"))).toEqual([expect.stringMatching(/^model-120 past +x$/)]);
  });

  itHolds(
    "fits the terminal for any text",
    fc.asyncProperty(
      // A row on several lines needs 4 columns of indent and 2 for the widest letter.
      fc.integer({ min: 6, max: 120 }),
      fc.array(fc.array(wide, { minLength: 5, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.constantFrom("left", "right", "decimal"), { minLength: 5, maxLength: 5 }),
      fc.boolean(),
      async (width, rows, aligns, fields) => {
        const columns = aligns.map((align, at) => columnAt(at, { align, tag: () => ({ text: "past", tone: "bad" }) }));
        const lines = await drawn(columns, rows, { width, ...(fields ? { fields: "c4,c0,c1,c2,c3" } : {}) });
        expect(lines.length).toBeGreaterThan(rows.length - 1);
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
      },
    ),
    { quick: 6, slow: 40 },
  );

  it("aligns columns of letters of any width", async () => {
    const rows = [
      ["鍵鍵", "x"],
      ["👩‍🚀 a", "x"],
      ["e\u0301", "x"],
      ["🇩🇪", "x"],
      ["🫨", "x"],
      ["abcdef", "x"],
    ];
    const lines = await drawn([columnAt(0, { heading: "h" }), columnAt(1, { heading: "x" })], rows, { width: 40 });
    expect(lines.map((line) => stringWidth(line.slice(0, line.lastIndexOf("x"))))).toEqual([8, 8, 8, 8, 8, 8, 8]);
  });

  it("draws 420 rows in order and in pieces of 100, because the time for a piece grows with the square of its rows", () => {
    const rows = Array.from({ length: 420 }, (_, at) => [`model-${at}`, "🫨"]);
    const shown = [0, 1].map((at) => {
      const cell = (row: Row) => row[at] ?? "";
      return { name: `c${at}`, heading: `c${at}`, rank: at, cell, text: cell };
    });
    const { pieces = [] } = drawTable({ columns: shown, rows, width: 80, paint: plainPaint, clean: (text) => text });
    const lines = Array.from(pieces, (piece) => piece.trimEnd().split("\n"));
    expect(lines.map(({ length }) => length)).toEqual([1, ...Array(4).fill(100), 20]);
    expect(lines.flat().slice(1)).toEqual(rows.map(([name, sign]) => `${name?.padEnd(9)}  ${sign}`));
  });

  const rows = [
    ["an-id-of-a-model", "12.5", "one", ""],
    ["b", "0.075", "two", ""],
    ["c", "free", "three", ""],
  ];
  const columns = [
    columnAt(0, { heading: "id" }),
    columnAt(1, { heading: "prompt\n$/M", align: "decimal" }),
    columnAt(2, { heading: "word" }),
    columnAt(3, { heading: "empty", rank: 1 }),
  ];

  it("aligns numbers at their decimal points, and units below their headings", async () => {
    expect(await drawn(columns, rows, { width: 80 })).toEqual([
      "                  prompt",
      "id                   $/M  word   empty",
      "an-id-of-a-model  12.5    one",
      "b                  0.075  two",
      "c                   free  three",
    ]);
  });

  it("omits empty columns, then columns by rank, and then truncates cells", async () => {
    for (const width of [31, 37])
      expect((await drawn(columns, rows, { width }))[1]).toBe("id                   $/M  word");
    for (const width of [24, 30]) expect((await drawn(columns, rows, { width }))[1]).toBe("id                   $/M");
    for (const width of [16, 23])
      expect(await drawn(columns, rows, { width })).toEqual(["id", "an-id-of-a-model", "b", "c"]);
    expect(await drawn(columns, rows, { width: 8 })).toEqual(["id", "an-id-o…", "b", "c"]);
    expect(await drawn(columns, rows, { width: 1 })).toEqual(["…", "…", "b", "c"]);
  });

  it("truncates a tenth of the cells before it omits a column, and the first of equal columns first", async () => {
    const letters = [..."abc"].map((heading, at) => columnAt(at, { heading }));
    const shown = async (count: number) => {
      const others = Array.from({ length: count - 1 }, () => ["i", "short", "short"]);
      const long = [["i", "x".repeat(30), "y".repeat(30)], ...others];
      return (await drawn(letters, long, { width: 46 }))[1];
    };
    expect(await shown(11)).toBe(`i  ${"x".repeat(19)}…  ${"y".repeat(20)}…`);
    expect(await shown(10)).toBe(`i  ${"x".repeat(30)}`);
  });

  it("omits the last of several columns with equal ranks", async () => {
    const equal = [columnAt(0, { heading: "id" }), columnAt(1, { rank: 1 }), columnAt(2, { rank: 1 })];
    expect(await drawn(equal, [["a", "left", "right"]], { width: 20 })).toEqual(["id  column 1", "a   left"]);
  });

  it("cuts other cells before the first column, whose names people type", async () => {
    const named = [columnAt(0, { rank: 0 }), columnAt(1, { rank: 0 })];
    const lines = await drawn(named, [["x".repeat(30), "y".repeat(40)]], { width: 38 });
    expect(lines[1]).toBe(`${"x".repeat(23)}…  ${"y".repeat(11)}…`);
  });

  it("prints each row on several lines if its columns do not fit side by side", async () => {
    expect((await drawn(columns, rows, { width: 31, fields: "c0,c1,c2" })).slice(0, 2)).toEqual([
      ...["                  prompt", "id                   $/M  word"],
    ]);
    expect(await drawn(columns, rows, { width: 30, fields: "c0,c1,c2" })).toEqual([
      "an-id-of-a-model",
      "  prompt $/M  12.5",
      "  word        one",
      "",
      "b",
      "  prompt $/M  0.075",
      "  word        two",
      "",
      "c",
      "  prompt $/M  free",
      "  word        three",
    ]);
  });

  it("adds a colored tag to a cell", async () => {
    const host = testHost({ terminal: { stdout: true }, env: { FORCE_COLOR: "1" } });
    const marked = columnAt(0, { tag: ([date]) => (date === "2020" ? { text: "past", tone: "bad" } : undefined) });
    await printList(screenOn(host), {
      columns: [marked],
      rows: [["2020"], ["2999"]],
      json: printed,
    });
    expect(host.printed()).toBe("\u001b[1mcolumn 0\u001b[22m\n\u001b[31m2020 past\u001b[39m\n2999\n");
    const narrow = testHost({ terminal: { stdout: true, columns: 15 }, env: { FORCE_COLOR: "1" } });
    const both = [columnAt(1, { rank: 0 }), { ...marked, rank: 0 }];
    await printList(screenOn(narrow), { columns: both, rows: [["2020", "abc"]], json: printed });
    expect(narrow.printed()).toContain("\u001b[31m2020 past\u001b[39m");
  });

  it("prints nothing without rows", async () => {
    expect(await drawn(columns, [], { width: 80 })).toEqual([]);
  });

  it("cuts nothing in a pipe unless COLUMNS limits the width", async () => {
    const long = "x".repeat(300);
    for (const [env, expected] of [
      [{}, `column 0\n${long}\n`],
      [{ COLUMNS: "20" }, `column 0\n${"x".repeat(19)}…\n`],
    ] as const) {
      const host = testHost({ env });
      const screen = screenOn(host, { output: "table" });
      await printList(screen, { columns: [columnAt(0)], rows: [[long]], json: printed });
      expect(host.printed()).toBe(expected);
    }
  });

  it("aligns cells of 150,000 letters in a pipe", async () => {
    const long = "x".repeat(150_000);
    const host = testHost();
    await printList(screenOn(host, { output: "table" }), {
      columns: [columnAt(0, { heading: "a" }), columnAt(1, { heading: "b" })],
      rows: [[long, "y"], ...Array.from({ length: 20 }, () => ["x", "y"]), ["x", ""]],
      json: printed,
    });
    const short = `x${" ".repeat(long.length + 1)}y`;
    expect(
      host.printed().split("\n").slice(1, -1).join() === [`${long}  y`, ...Array(20).fill(short), "x"].join(),
    ).toBe(true);
  });
});

describe("a page", () => {
  itHolds(
    "fits a terminal of 30 to 100 columns",
    fc.asyncProperty(fc.integer({ min: 30, max: 100 }), wide, wide, async (columns, label, text) => {
      const host = testHost({ terminal: { stdout: true, columns }, env: { NO_COLOR: "1" } });
      const lines = [label, "鍵鍵", "abc"].map((one) => ({ label: one, text }));
      const page = { sections: [{ title: text, lines, block: `${text}\n`.repeat(40) }], isFull: false };
      await printPage(screenOn(host), page);
      for (const line of host.printed().split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    }),
    { quick: 6, slow: 40 },
  );
});
