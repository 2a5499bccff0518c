import { describe, expect, it } from "vitest";
import { groupDigits, printPage, printPages, requirePage } from "../../src/output/page.ts";
import type { Page, Section } from "../../src/output/views.ts";
import { testHost } from "../support/host.ts";
import { type ScreenFlags, screenOn } from "./printed-text.ts";

/** Returns the lines of pages on a terminal, or in a pipe of unlimited width. */
const linesOf = async (pages: readonly Page[], columns?: number) => {
  const terminal = columns === undefined ? {} : { stdout: true, columns };
  const host = testHost({ terminal, env: { NO_COLOR: "1" } });
  await printPages(screenOn(host), pages);
  return host.printed().split("\n").slice(0, -1);
};
const show = async (columns: number | undefined, ...sections: readonly Section[]) =>
  await linesOf([{ sections }], columns);

describe("a page", () => {
  it("has titles at the indent of their level, and their content below", async () => {
    const sections: readonly Section[] = [
      { title: "one", lines: [{ label: "a", text: "b" }], block: "c\nd" },
      { title: "two", level: 2, block: "e\n\nf\n", isQuoted: true },
      { title: "three\nfour", level: 3 },
      { title: "nothing", lines: [] },
      { title: "only a block", lines: [], block: "" },
      { lines: [{ label: "", text: "g" }], block: "h" },
    ];
    const text = `one|  a  b||  c|  d||  two|    │ e|    │|    │ f||    three four||only a block|||  g|h`;
    for (const columns of [undefined, 40]) expect((await show(columns, ...sections)).join("|")).toBe(text);
    const quoted = "aaaa bbbb cccc dddd e";
    expect(await show(24, { title: "t", block: quoted, isQuoted: true })).toEqual([
      "t",
      "  │ aaaa bbbb cccc dddd",
      "  │ e",
    ]);
  });

  it("follows another page after a line of at most 80 columns", async () => {
    const pages = ["a", "b"].map((title) => ({ sections: [{ title }] }));
    for (const [columns, width] of [
      [undefined, 80],
      [100, 80],
      [30, 30],
    ] as const)
      expect(await linesOf(pages, columns)).toEqual(["a", "", "─".repeat(width), "", "b"]);
    expect(await linesOf([{ sections: [] }, ...pages.slice(1)])).toEqual(["b"]);
  });

  const label = "the label";
  it.each<[columns: number | undefined, text: string, lines: readonly string[]]>([
    [30, "sixteen letters fit", ["the label  sixteen letters fit"]],
    [29, "sixteen letters fit", ["the label  sixteen letters", "           fit"]],
    [26, "sixteen letters fit", ["the label", "  sixteen letters fit"]],
    [27, "a-word-of-20-letters", ["the label", "  a-word-of-20-letters"]],
    [31, "a-word-of-20-letters", ["the label  a-word-of-20-letters"]],
    [27, `a-word-of-${"x".repeat(16)}`, ["the label  a-word-of-xxxxxx", `           ${"x".repeat(10)}`]],
    [30, "a\n\tb", ["the label  a", "               b"]],
    [undefined, `${"word ".repeat(40)}end`, [`the label  ${"word ".repeat(40)}end`]],
  ])("shows a text next to its label, or below if it fits better in %s columns: %j", async (columns, text, lines) => {
    expect(await show(columns, { lines: [{ label, text }] })).toEqual(lines);
  });

  it("shows a label on one line", async () => {
    expect(await show(undefined, { lines: [{ label: "a\nb", text: "c" }] })).toEqual(["a b  c"]);
  });

  it("folds sentences between words, and no commands", async () => {
    const text = "rollcall log my-model a.jsonl --split train";
    const lines = [{ label, text, kind: "command" } as const, { label: "b", text, kind: "sentence" } as const];
    expect(await show(40, { lines })).toEqual([
      `the label  ${text}`,
      "b          rollcall log my-model a.jsonl",
      "           --split train",
    ]);
  });

  it("omits the middle of a long block on a terminal, unless it is full", async () => {
    const block = Array.from({ length: 1033 }, (_, at) => `${at + 1}`).join("\n");
    const shown = async (isFull: boolean, columns?: number) =>
      await linesOf([{ sections: [{ block }], isFull }], columns);
    const all = block.split("\n");
    const note = "… folded: 4,057 characters on 1,033 lines (a pipe shows all)";
    expect(await shown(false, 60)).toEqual([...all.slice(0, 20), note, ...all.slice(-4)]);
    expect([await shown(true, 60), await shown(true), await shown(false)]).toEqual([all, all, all]);
    const sections = [{ block: `${"a".repeat(2 ** 17)}${"b".repeat(99)}` }];
    const huge = await linesOf([{ sections, isFull: false }], 60);
    expect([huge.length, huge[19], huge[20]]).toEqual([
      25,
      "a".repeat(60),
      "… folded: 131,171 characters (a pipe shows all)",
    ]);
    expect(huge.slice(-3).join("")).toMatch(/^a*b{99}$/);
    const emoji = await linesOf([{ sections: [{ block: "🙂".repeat(9000) }], isFull: false }], 60);
    expect(emoji[20]).toBe("… folded: 9,000 characters (a pipe shows all)");
    const long = Array.from("abcdefghijkl", (letter) => letter.repeat(20_000));
    expect(await linesOf([{ sections: [{ block: long.join("\n") }], isFull: true }])).toEqual(long);
  });

  it("omits at least 8 lines above the limit of a block", async () => {
    const countOf = async (lines: number, maxBlockLines = {}) => {
      const section = { block: Array(lines).fill("x").join("\n"), ...maxBlockLines };
      return (await linesOf([{ sections: [section], isFull: false }], 60)).length;
    };
    expect([await countOf(32), await countOf(33)]).toEqual([32, 25]);
    const limit = { maxBlockLines: 30 };
    expect([await countOf(38, limit), await countOf(39, limit)]).toEqual([38, 31]);
  });

  it("is folded in a pipe if it replaces a table", async () => {
    const host = testHost({ env: { COLUMNS: "8" } });
    await printPage(screenOn(host), { sections: [{ block: "one two three" }], isFolded: true });
    expect(host.printed()).toBe("one two\nthree\n");
  });
});

it("requirePage refuses rows without columns", () => {
  const require = (flags: ScreenFlags) => () => requirePage(screenOn(testHost(), flags));
  for (const flags of [{}, { json: true }, { output: "tsv", fields: "id" }] as const)
    expect(require(flags)).not.toThrow();
  expect(require({ output: "tsv" })).toThrow("--output tsv needs rows, but this result is a page");
});

it("groupDigits groups thousands of whole numbers", () => {
  const numbers = ["999", "1000", "-1234567", "12345.6", "1e9", "1".repeat(31)];
  expect(numbers.map(groupDigits)).toEqual(["999", "1,000", "-1,234,567", "12345.6", "1e9", "1".repeat(31)]);
});
