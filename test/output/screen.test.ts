import { describe, expect, it } from "vitest";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { findColumn, findValues, resolveField } from "../../src/output/json-fields.ts";
import { Screen, type ScreenOptions } from "../../src/output/screen.ts";
import { foldLine, foldSentence, truncate, truncateStart } from "../../src/output/width.ts";
import type { Host } from "../../src/system/host.ts";
import { testHost } from "../support/host.ts";
import { type ScreenFlags, screenOn } from "./printed-text.ts";

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

  it("has a color for each tone", async () => {
    const paint = await screenOn(testHost(), { color: "always" }).paint();
    const codes = (["good", "bad", "warning", "faint", "strong"] as const).map((tone) => paint(tone, "a").slice(0, 5));
    expect(codes.map((code) => code.replace("\u001b[", ""))).toEqual(["32m", "31m", "33m", "2ma", "1ma"]);
  });

  it("prints its messages before later output", async () => {
    const host = testHost({ terminal: { stderr: true } });
    const screen = screenOn({ ...host, stderr: host.stdout }, { color: "never" });
    screen.notice("one");
    await screen.print(["two\n"], "lines");
    expect(host.printed()).toBe("note: one\ntwo\n");
  });

  it.each<[columns: number, stdout: boolean, env: Env]>([
    [70, true, { COLUMNS: "50" }],
    [50, false, { COLUMNS: "50" }],
    ...[undefined, "0", "-1", "1.5", "x"].map((COLUMNS): [number, boolean, Env] => [Infinity, false, { COLUMNS }]),
  ])("has %d columns (row %$)", (columns, stdout, env) => {
    expect(screenOn(testHost({ terminal: { stdout, stderr: true, columns: 70 }, env })).width).toBe(columns);
  });

  const warning = { rule: "odd", severity: "warning", message: "odd", file: "a", line: 2 } as const;
  const texts = ["note: one two", "note: three", "note: run:", "a --b", "a:2: warning: odd [odd]", "sent"];
  it.each<[said: readonly string[], flags: Partial<ScreenOptions>, stderr: boolean]>([
    [texts, {}, false],
    [texts, { format: "tsv" }, true],
    [["sent"], { quiet: true }, true],
    [["sent"], { format: "json" }, true],
  ])("prints messages as its options say (row %$)", async (said, flags, stderr) => {
    const host = testHost({ terminal: { stderr } });
    const screen = new Screen({ host, options: { color: "never", ...flags } as const });
    screen.notice("one\ntwo");
    screen.noteInResult("three");
    screen.noticeCommands("run:", ["a\n--b"]);
    screen.warn(warning);
    screen.trace("sent");
    await screen.flushErrors();
    expect(host.said().trimEnd().split("\n")).toEqual(said);
    expect([screen.notices, screen.resultNotes]).toEqual([["one\ntwo", "three", "run:"], ["three"]]);
    expect(screen.isJson).toBe(flags.format === "json");
  });

  it("folds notices to the columns of the terminal of standard error, and keeps the first 1000", async () => {
    const host = testHost({ terminal: { stderr: true, columns: 13 }, env: { COLUMNS: "50" } });
    const screen = screenOn(host, { color: "always" });
    screen.notice("one two three");
    screen.trace("GET a");
    await screen.flushErrors();
    expect(host.said()).toBe("\u001b[2mnote:\u001b[22m one two\n  three\n\u001b[2mGET a\u001b[22m\n");
    for (let at = 0; at < 1000; at++) screen.notice(`${at}`);
    expect([screen.notices.length, screen.notices.at(-1)]).toEqual([1000, "998"]);
  });

  it.each<
    [display: "bar" | "lines" | "none", env: Env, flags: Partial<ScreenOptions>, terminal?: Partial<Host["terminal"]>]
  >([
    ["bar", {}, {}],
    ["bar", {}, { format: "tsv" }],
    ["none", {}, { quiet: true }],
    ["none", {}, { format: "json" }],
    ["none", {}, {}, { stderr: false, stdout: true }],
    ["none", {}, {}, { isSizeUnknown: true }],
    ["none", { TERM: "dumb" }, {}],
    ["lines", { CI: "1" }, {}],
    ["lines", { CI: "1" }, {}, { stderr: false }],
    ["none", { CI: "1" }, { quiet: true }],
  ])("shows progress as %s (row %$)", async (display, env, flags, terminal = {}) => {
    const host = testHost({ terminal: { stderr: true, ...terminal }, env });
    let spinners = 0;
    const sleep: Host["sleep"] = (_, signal) => {
      spinners++;
      return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const options = { color: "never", ...flags } as const;
    let now = 0;
    const screen = new Screen({ host: { ...host, sleep, elapsed: () => now }, options });
    const meter = screen.startMeter();
    now = 10_000;
    meter.show({ phase: "sending", bytes: 0, ofBytes: undefined });
    screen.startProgress("reading").stop();
    await screen.flushErrors();
    expect([spinners, host.said()]).toEqual([display === "bar" ? 2 : 0, display === "lines" ? "sending 0 kB\n" : ""]);
  });

  it.each([
    [24, "sending 0 kB 1 group"],
    [23, "sending 0 kB"],
  ])("shows a bar next to its spinner in %d columns", async (columns, text) => {
    const host = testHost({ terminal: { stderr: true, columns } });
    const meter = screenOn(host, { color: "never" }).startMeter();
    meter.show({ phase: "sending", bytes: 0, ofBytes: undefined, groups: 1 });
    await expect.poll(host.said, { interval: 5 }).toContain("sending");
    meter.stop();
    expect(/sending.*/.exec(host.said())?.[0]).toBe(text);
  });

  it("prints text as it is in a pipe, and without harmful characters on a terminal", async () => {
    const hosts = [false, true].map((stdout) => testHost({ terminal: { stdout } }));
    for (const host of hosts) await screenOn(host).printText("a\u001b[2Jb\r\n");
    expect(hosts.map((host) => host.printed())).toEqual(["a\u001b[2Jb\r\n", "ab\n"]);
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
    { name: "id" },
    { name: "pricing.prompt", heading: "prompt\n$/M" },
    { name: "max_output_length", heading: "max output\ntokens" },
    { name: "prompt_tokens" },
  ];

  it("is found by its name or heading in any spelling", () => {
    const typed = "ID,pricing.prompt,prompt,max-output,max output tokens,Prompt-Tokens,token".split(",");
    const found = typed.map((name) => findColumn(name, columns)?.name ?? "none");
    const [id, price, output] = columns.map(({ name }) => name);
    expect(found).toEqual([id, price, price, output, output, "prompt_tokens", "none"]);
  });

  it("has the values of its whole name, or else those below the shortest key that begins the name", () => {
    const json = '{"a":{"b.c":1,"b":[{"c":2},{"d":3},{"c":4}]},"a.b":{"c":5,"x":6},"a.b.d":7}';
    const find = (name: string) => findValues(parseRawJson(json), name)?.map((value) => value.json);
    expect(["a.b.c", "a.b.d", "a.b.x", "a.x"].map(find)).toEqual([["1"], ["7"], undefined, undefined]);
  });

  it("is refused with the names of at most five columns", () => {
    const refused = (names: string) => () =>
      resolveField(
        "x",
        names.split(" ").map((name) => ({ name })),
      );
    expect(refused("aa bb cc dd ee")).toThrow(/^invalid --fields "x": expected names of columns: aa, bb, cc, dd, ee$/);
    expect(refused("aa bb cc dd ee ff")).toThrow(/: aa, bb, cc, dd, ee, …$/);
  });

  it("has a path in JSON, also for a part of its name and below its name", () => {
    const names = ["id", "pricing", "pricing.prompt.x", "prompt", "prompt_tokens"];
    const paths = ["id", "pricing", "pricing.prompt.x", "pricing.prompt", "prompt_tokens"];
    expect(names.map((name) => resolveField(name, columns))).toEqual(paths);
  });
});
