import { describe, expect, it } from "vitest";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { findColumn, findValues, resolveField } from "../../src/output/json-fields.ts";
import { parseScreenOptions, type ScreenFlags } from "../../src/output/screen.ts";
import { foldLine, foldSentence, truncate, truncateStart } from "../../src/output/width.ts";
import { testHost } from "../support/host.ts";
import { screenOn } from "./printed-text.ts";

type Env = Readonly<Record<string, string | undefined>>;

describe("a screen", () => {
  it.each<[shown: "red" | "plain", isTerminal: boolean, flags: ScreenFlags, env: Env]>([
    ["red", true, {}, {}],
    ["plain", false, {}, {}],
    ["plain", true, {}, { NO_COLOR: "1" }],
    ["red", true, {}, { NO_COLOR: "" }],
    ["plain", true, {}, { TERM: "dumb" }],
    ["red", false, {}, { FORCE_COLOR: "1", NO_COLOR: "1" }],
    ["plain", true, {}, { FORCE_COLOR: "0" }],
    ["plain", true, {}, { FORCE_COLOR: "false" }],
    ["plain", true, { color: "never" }, { FORCE_COLOR: "1" }],
    ["red", false, { color: "always" }, { NO_COLOR: "1" }],
    ["red", true, { color: "auto" }, {}],
  ])("prints %s text (row %$)", async (shown, stdout, flags, env) => {
    const paint = await screenOn(testHost({ terminal: { stdout }, env }), flags).paint();
    expect(paint("bad", "a")).toBe(shown === "red" ? "\u001b[31ma\u001b[39m" : "a");
    expect(paint(undefined, "a") + paint("bad", "")).toBe("a");
  });

  // The pager `true` prints nothing, and the host does not get what a pager prints.
  const three = "a\nb\nc\n";
  it.each<[isPaged: boolean, text: string, env: Env, flags?: ScreenFlags]>([
    [true, three, {}],
    [false, "a\nb\n", {}],
    [true, "\n\n\n", {}],
    [true, `${"x".repeat(11)}\nb\n`, {}],
    [false, `${"x".repeat(10)}\n\u001b[31mb\u001b[39m\n`, {}],
    [true, three, { PAGER: "sh -c 'exit 130'" }],
    [false, three, {}, { pager: false }],
    [false, three, { PAGER: "cat" }],
    [false, three, { PAGER: "" }],
    [false, three, { PAGER: "no-such-pager -x" }],
    [false, three, { PAGER: "false" }],
    [false, three, { TERM: "dumb" }],
    [false, three, { CI: "1" }],
  ])("starts a pager if the text fills the terminal: %j (row %$)", async (isPaged, text, env, flags = {}) => {
    const terminal = { stdout: true, columns: 10, rows: 3 };
    const host = testHost({ terminal, env: { PATH: process.env.PATH, PAGER: "true", ...env } });
    await screenOn(host, flags).print([text], "lines");
    expect(host.printed()).toBe(isPaged ? "" : text);
  });

  it("prints its messages before later output", async () => {
    const host = testHost({ terminal: { stderr: true } });
    const screen = screenOn({ ...host, stderr: host.stdout }, { color: "never" });
    screen.notice("one");
    await screen.print(["two\n"], "lines");
    expect(host.printed()).toBe("note: one\ntwo\n");
  });

  it("has one format, which --json and --output can both name", () => {
    const formatOf = (flags: ScreenFlags) => parseScreenOptions(flags).format;
    expect([formatOf({}), formatOf({ json: true }), formatOf({ output: "csv" })]).toEqual([undefined, "json", "csv"]);
    expect(formatOf({ json: true, output: "json" })).toBe("json");
    expect(() => formatOf({ json: true, output: "jsonl" })).toThrow("cannot combine --json and -o jsonl");
  });
});

describe("a text of several columns", () => {
  it("is truncated at its end or its start", () => {
    const widths = [7, 6, 4, 1, 0];
    expect(widths.map((width) => truncate("abcdef", width))).toEqual(["abcdef", "abcdef", "abc…", "…", ""]);
    expect(widths.map((width) => truncateStart("abcdef", width))).toEqual(["abcdef", "abcdef", "…def", "…", ""]);
    expect([truncate("鍵鍵鍵", 4), truncateStart("鍵鍵鍵", 4), truncate("é鍵", 3)]).toEqual(["鍵…", "…鍵", "é鍵"]);
  });

  it("is folded at spaces, or inside a long word", () => {
    const fold = (line: string, width: number) => foldLine(line, width).join("|");
    const atSpaces = [fold("aa bb cc", 5), fold("aa bb", 4), fold("aa bb", 8), fold("a b cc", 4), fold("a  bb", 2)];
    expect(atSpaces).toEqual(["aa bb|cc", "aa|bb", "aa bb", "a b|cc", "a|bb"]);
    const inWords = [fold("aabbccd", 3), fold("    aabb", 6), fold("鍵鍵", 1), fold("", 3)];
    expect(inWords).toEqual(["aab|bcc|d", "    aa|bb", "鍵|鍵", ""]);
    const sentence = (text: string, width: number) => foldSentence(text, width).join("|");
    expect(sentence("one two three", 7)).toBe("one two|  three");
    expect(sentence("pass --max-wait 30s or `a b c` now", 14)).toBe("pass|  --max-wait 30s|  or `a b c`|  now");
    expect(sentence("or `rollcall log a.jsonl`, too", 10)).toBe("or|  rollcall log a.jsonl|  too");
  });
});

describe("a column", () => {
  const columns = [
    { name: "id", path: "entry.id" },
    { name: "pricing.prompt", path: "entry.pricing.prompt", heading: "prompt\n$/M" },
    { name: "max_output_length", path: "entry.max_output_length", heading: "max output\ntokens" },
    { name: "prompt_tokens" },
  ];

  it("is found by its name, path or heading in any spelling", () => {
    const typed = "ID,entry.id,pricing.prompt,prompt,max-output,max output tokens,Prompt-Tokens,token".split(",");
    const found = typed.map((name) => findColumn(name, columns)?.name ?? "none");
    const [id, price, output] = columns.map(({ name }) => name);
    expect(found).toEqual([id, id, price, price, output, output, "prompt_tokens", "none"]);
  });

  it("has the values of its whole name, or else those below the shortest key that begins the name", () => {
    const json = '{"a":{"b.c":1,"b":[{"c":2},{"d":3},{"c":4}]},"a.b":{"c":5,"x":6},"a.b.d":7}';
    const find = (name: string) => findValues(parseRawJson(json), name)?.map((value) => value.json);
    expect(["a.b.c", "a.b.d", "a.b.x", "a.x"].map(find)).toEqual([["1"], ["7"], undefined, undefined]);
  });

  it("has a path in JSON, also for a part of its name and below its name", () => {
    const names = ["id", "pricing", "pricing.prompt.x", "prompt", "prompt_tokens"];
    const paths = ["entry.id", "entry.pricing", "entry.pricing.prompt.x", "entry.pricing.prompt", "prompt_tokens"];
    expect(names.map((name) => resolveField(name, columns))).toEqual(paths);
  });
});
