import fc from "fast-check";
import stringWidth from "string-width-current";
import { describe, expect, it } from "vitest";
import { bugs } from "../../package.json" with { type: "json" };
import {
  type Excerpt,
  Failure,
  type FailureCode,
  type FailureDetails,
  type Problem,
  toExitCode,
  toFailure,
} from "../../src/failure.ts";
import { printFailure } from "../../src/output/print-failure.ts";
import { testHost } from "../support/host.ts";
import { problemsIn, told } from "../support/problems.ts";
import { itHolds } from "../support/property.ts";
import { screenOn } from "./printed-text.ts";

const asked = `{"role":"user","content":"${"日本語 and more ".repeat(300)}"}`;
const long = (more: string, role = "assistant") =>
  `{"messages_and_choices":[${asked},{"role":"${role}","content":"ok"},${asked}],"reward":1${more}}`;

const odd = [
  long("", "asistant"),
  long(',"metadata":{"a":{"b":1}}'),
  long(',"start_time":"2025-11-01T09:30:00"'),
  `${long("").slice(0, -1)},"logs":[NaN]}`,
  `{"messages_and_choices":[${asked}],"reward":"${"1".repeat(200)}"}`,
  long("").slice(0, -30),
].join("\n");

const drawn = async (columns: number): Promise<string> => {
  const problems = await problemsIn({ "step.jsonl": odd });
  const frames: string[] = [];
  for (const problem of problems) frames.push(await told(problem, columns));
  return `${frames.join("\n\n")}\n`;
};

describe("an unexpected error", () => {
  it.each(["EMFILE", "ENFILE"])("is no defect of rollcall if its code is %s", (code) => {
    expect(toFailure(Object.assign(new Error("open"), { code }))).toMatchObject({
      code: "storage",
      message: "cannot open a file: too many files are open",
    });
  });

  it("names the current folder if it was deleted, and is otherwise a defect with its text", () => {
    const inFolder = (syscall: string) => toFailure(Object.assign(new Error("gone"), { code: "ENOENT", syscall }));
    const hint = "change to a folder that exists, and run the command again";
    expect(inFolder("uv_cwd")).toMatchObject({ code: "usage", kind: "current-folder-deleted", details: { hint } });
    for (const failure of [inFolder("open"), toFailure("gone")])
      expect(failure).toMatchObject({
        code: "internal",
        message: "internal error: gone",
        details: {
          stack: expect.any(String),
          hint: expect.stringContaining(`report the command and its output at ${bugs}`),
        },
      });
    expect(toFailure(inFolder("uv_cwd"))).toMatchObject({ code: "usage" });
  });
});

describe("a failure", () => {
  const fail = (code: FailureCode, details: FailureDetails = {}) => new Failure(code, "k", "m", details);

  it.each<[exit: number, retryable: boolean, failure: Failure]>([
    [1, false, fail("internal")],
    [5, true, fail("unavailable")],
    [5, false, fail("unavailable", { retryable: false })],
    [6, true, fail("refused", { retryable: true })],
    [143, true, fail("interrupted")],
    [130, true, fail("interrupted", { signal: "SIGINT" })],
    [129, true, fail("interrupted", { signal: "SIGHUP" })],
  ])("has the exit code %d and says if a rerun can help: %s (row %$)", (exit, retryable, failure) => {
    expect([toExitCode(failure), failure.retryable]).toEqual([exit, retryable]);
    const changed = failure.withDetails({ hint: "h" });
    expect(changed).toMatchObject({
      code: failure.code,
      kind: "k",
      message: "m",
      details: { ...failure.details, hint: "h" },
    });
  });
});

describe("the frame of a problem", () => {
  it.each([60, 100])("shows the line in %i columns", async (columns) => {
    const text = await drawn(columns);
    for (const line of text.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    if (columns === 60) await expect(text).toMatchFileSnapshot("golden/frames.txt");
  });

  it("shows only the line of the problem if the document is pretty-printed", async () => {
    const document = JSON.stringify(
      { trajectories: [{ messages_and_choices: [JSON.parse('{"role":"usr","content":"hi"}')], reward: 1 }] },
      null,
      2,
    );
    const problems = await problemsIn({ "group.json": document });
    const problem = problems.find(({ rule }) => rule === "unknown-role");
    expect(problem && (await told(problem)).split("\n").slice(1, 4)).toEqual([
      ' 6 │           "role": "usr",',
      "   │                   ^^^^^",
      "   = use developer, system, user, assistant, tool or function",
    ]);
  });

  it("is replaced by one line in a pipe", async () => {
    const [problem] = await problemsIn({ "step.jsonl": long("", "asistant") });
    const host = testHost();
    const screen = screenOn(host);
    if (problem !== undefined) screen.warn(problem);
    await screen.flushErrors();
    expect(host.said().split("\n")[0]).toMatch(/^step\.jsonl:1:\d+: warning: .* \[[a-z-]+\]$/);
  });

  // fast-check's own unit of code points takes half a second to build.
  const codePoint = fc
    .integer({ min: 0, max: 0x10ffff })
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code));

  const piece = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 60 }),
    fc.string({ unit: codePoint, maxLength: 60 }),
    fc.constantFrom("日本語", "👩‍👩‍👧‍👦", "🇩🇪🇩🇪", "é", "\t\t", "\u001b[31m", "x".repeat(500), "☺️", "\u202e"),
  );
  // Without commands and options, which are never folded.
  const text = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join("").replaceAll(/[`-]/g, "'"));
  const excerpt = fc
    .record({ before: text, value: text, behind: text, cutBefore: fc.boolean(), cutBehind: fc.boolean() })
    .map(
      ({ before, value, behind, cutBefore, cutBehind }): Excerpt => ({
        line: 7,
        text: before + value + behind,
        isCutBefore: cutBefore,
        isCutAfter: cutBehind,
        from: before.length,
        to: before.length + value.length,
      }),
    );
  const asked = fc.record({ excerpt, message: text, advice: text, columns: fc.integer({ min: 20, max: 140 }) });
  itHolds(
    "fits the width",
    fc.asyncProperty(asked, async ({ excerpt, message, advice, columns }) => {
      const place = { file: "a.jsonl", line: 7, rule: "unknown-role", severity: "warning" } as const;
      const said = await told({ ...place, message, advice, excerpt }, columns);
      // A word that does not fit has its own line.
      const wide = said.split("\n").filter((line) => stringWidth(line) > columns);
      expect(wide.filter((line) => /\S\s/.test(line.replace(/^ *(?:= )?/, "").trim()))).toEqual([]);
      const marks = said.split("\n").filter((line) => /^ +│ +\^+$/.test(line));
      if (columns >= 40) expect(marks.length).toBeLessThanOrEqual(1);
    }),
    { quick: 10, slow: 120 },
  );

  const part = (more: Partial<Excerpt>): Problem => ({
    ...{ rule: "r", severity: "error", message: "odd", file: "a", line: 7, column: 1 },
    excerpt: { line: 7, text: "one two three", from: 4, to: 7, isCutBefore: false, isCutAfter: false, ...more },
  });

  it.each<[shown: string, marks: string, more: Partial<Excerpt>]>([
    [" 7 │ one two three", "   │     ^^^", {}],
    [" 7 │ …one two three", "   │      ^^^", { isCutBefore: true }],
    [" 7 │ one two three…", "   │     ^^^", { isCutAfter: true }],
    [" 7 │ one two three", "   │              ^", { from: 13, to: 13 }],
    [" 120 │ one two three", "     │ ^^^", { line: 120, from: 0, to: 3 }],
    [` 7 │ ${"x".repeat(33)}…`, `   │ ${"^".repeat(34)}`, { text: "x".repeat(99), from: 0, to: 99 }],
    [
      ` 7 │ …${"a".repeat(14)}two${"b".repeat(15)}…`,
      `   │ ${" ".repeat(15)}^^^`,
      { text: `${"a".repeat(99)}two${"b".repeat(99)}`, from: 99, to: 102 },
    ],
    [` 7 │ aa two ${"b".repeat(26)}…`, "   │    ^^^", { text: `aa two ${"b".repeat(99)}`, from: 3, to: 6 }],
  ])("marks the value in 39 columns, as in %j (row %$)", async (shown, marks, more) => {
    expect((await told(part(more), 39)).split("\n").slice(1, 3)).toEqual([shown, marks]);
  });

  it("is omitted on a terminal without columns for it", async () => {
    const lines = async (columns: number) =>
      (await told(part({}), columns)).split("\n").filter((line) => /│/.test(line));
    expect([(await lines(13)).length, await lines(12)]).toEqual([2, []]);
  });

  it("does not show secrets in the line", async () => {
    const host = testHost({ terminal: { stderr: true } });
    const screen = screenOn(host);
    screen.hideSecret("Ab3dEfGh1JkLmN0p");
    screen.warn(part({ text: "use Ab3dEfGh1JkLmN0p now", from: 4, to: 12 }));
    await screen.flushErrors();
    expect(host.said()).toContain("[text omitted: it contains a credential]");
    expect(host.said()).not.toContain("Ab3dEfGh");

    const key = ["sk", "ant", "Ab3dEfGh1JkLmN0pQrStUvWxYz0123"].join("-");
    const line = (role: string) =>
      `{"messages_and_choices":[{"role":"${role}","content":"use ${key} now"},{"role":"assistant","content":"ok"}],"reward":1}`;
    for (const problem of await problemsIn({ "step.jsonl": `${line("usr")}\n${line("user")}` })) {
      const said = await told(problem, 140);
      expect(said).not.toContain("Ab3dEfGh");
    }
  });
});

describe("a failure with several problems", () => {
  const print = async (count: number, message = "a.jsonl:1: not a number", json = false) => {
    const problems = Array.from(
      { length: count },
      (_, at): Problem => ({
        rule: "wrong-type",
        severity: "error",
        message: "not a number",
        file: "a.jsonl",
        line: at + 1,
      }),
    );
    const host = testHost();
    const screen = screenOn(host, { json });
    await printFailure(screen, new Failure("invalid_input", "wrong", message, { problems }));
    await screen.flushErrors();
    return host.said();
  };

  const printed = async (failure: Failure, columns?: number) => {
    const host = testHost({ terminal: columns === undefined ? {} : { stderr: true, columns }, env: { NO_COLOR: "1" } });
    await printFailure(screenOn(host), failure);
    return host.said().split("\n").slice(0, -1);
  };
  const fail = (details: FailureDetails, message = "broken") => new Failure("internal", "broken", message, details);
  const odd = { rule: "odd", severity: "error", message: "odd value", file: "a.jsonl", line: 3, column: 5 } as const;
  const http = { method: "GET", url: "https://h/v1", status: 500 } as const;

  it.each<[lines: readonly string[], failure: Failure]>([
    [
      ["rollcall: broken", "  at a.jsonl:3", "hint: fix it"],
      fail({ where: { file: "a.jsonl", line: 3 }, hint: "fix it" }),
    ],
    [["rollcall: broken a.jsonl"], fail({ where: { file: "a.jsonl", line: 3 } }, "broken a.jsonl")],
    [["rollcall: broken", "  at GET https://h/v1"], fail({ http })],
    [["rollcall: broken https://h/v1"], fail({ http }, "broken https://h/v1")],
    [["rollcall: broken; nothing was sent", "next: rollcall log m"], fail({ unsent: true, next: "rollcall log m" })],
    [["rollcall: broken", "  and 3 more problems"], fail({ omittedProblems: 3 })],
    [["rollcall: broken", "Error", "    at a"], fail({ stack: "Error\n    at a" })],
    [
      ["rollcall: broken", "a.jsonl:3:5: error: odd value [odd]", "  fix"],
      fail({ problems: [{ ...odd, advice: "fix" }] }),
    ],
    [["rollcall: a.jsonl:3:5: odd value"], fail({ problems: [{ ...odd, advice: "fix" }] }, "a.jsonl:3:5: odd value")],
    [
      ["rollcall: a.jsonl:3:5: odd value", "  and 2 more: a.jsonl:4, 5:1"],
      fail(
        { problems: [{ ...odd, others: { count: 2, positions: ["a.jsonl:4", "a.jsonl:5:1"] } }] },
        "a.jsonl:3:5: odd value",
      ),
    ],
    [["rollcall: odd value", "a.jsonl:3:5: error: odd value [odd]"], fail({ problems: [odd] }, "odd value")],
    [
      ["rollcall: a.jsonl: odd value", "a.jsonl:3:5: error: odd value [odd]"],
      fail({ problems: [odd] }, "a.jsonl: odd value"),
    ],
    [
      ["rollcall: b", "a.jsonl:3:5: error: odd value [odd]", "  fix", "a.jsonl:4:5: error: odd value [odd]"],
      fail({ problems: [odd, { ...odd, line: 4 }].map((one) => ({ ...one, advice: "fix" })) }, "b"),
    ],
    [
      ["rollcall: stopped; broken; nothing was sent"],
      new Failure("interrupted", "interrupted", "stopped", { cause: fail({}), unsent: true }),
    ],
    [["rollcall: broken"], fail({ cause: fail({}, "other") })],
    [[`rollcall: ${"x".repeat(2000)}`], fail({}, "x".repeat(2000))],
    [[`rollcall: ${"x".repeat(2000)}…`], fail({}, "x".repeat(2001))],
  ])("has the lines that are not in its message (row %$)", async (lines, failure) => {
    expect(await printed(failure)).toEqual(lines);
  });

  const { column: _, ...atLine } = odd;
  const others = (...positions: readonly string[]) => ({ count: 4, positions });
  it.each<[lines: string, problem: Problem]>([
    ["a.jsonl:3:5: error: odd value [odd]", { ...odd, path: ["a", 0] }],
    ["a.jsonl:3: error: a.0: odd value [odd]", { ...atLine, path: ["a", 0] }],
    ["a.jsonl:3:5: error: a.0: odd value [odd]", { ...odd, path: ["a", 0], from: "service" }],
    ["a.jsonl:3: error: `a.0`, odd [odd]", { ...atLine, path: ["a", 0], message: "`a.0`, odd" }],
    ["a.jsonl:3: error: a: an odd [odd]", { ...atLine, path: ["a"], message: "an odd" }],
    ["warning: odd [r]", { severity: "warning", message: "odd", rule: "r" }],
    ["a.jsonl:3: error: odd value [odd]|  and 4 more", { ...atLine, others: others() }],
    [
      "a.jsonl:3: error: odd value [odd]|  and 4 more: a.jsonl:4, 5, b.jsonl:4, a.jsonl:6",
      { ...atLine, others: others("a.jsonl:4", "a.jsonl:5", "b.jsonl:4", "a.jsonl:6") },
    ],
  ])("shows the field and the other positions of a problem: %s", async (lines, problem) => {
    expect((await printed(fail({ problems: [problem] }))).join("|")).toBe(`rollcall: broken|${lines}`);
  });

  it("colors its labels", async () => {
    const host = testHost();
    const problems = [odd, { ...odd, severity: "warning" }] as const;
    await printFailure(screenOn(host, { color: "always" }), fail({ problems, hint: "fix it", next: "rollcall log m" }));
    const [red, yellow, faint] = ["31m", "33m", "2m"];
    const codes = Array.from(host.said().matchAll(/\u001b\[(\d+m)([^\u001b]+)/g), ([, code, text]) => [code, text]);
    expect(codes.filter(([code]) => code !== "39m" && code !== "22m").flat()).toEqual([
      ...[red, "rollcall:", red, "error:", faint, "[odd]", yellow, "warning:", faint, "[odd]"],
      ...[faint, "hint:", faint, "next:"],
    ]);
  });

  it("is folded on a terminal, except its command", async () => {
    const details = { hint: "fix the odd value", next: "rollcall log my-model a.jsonl" };
    const failure = fail({ ...details, problems: [{ ...odd, advice: "write a number here" }] });
    expect(await printed(failure, 18)).toEqual([
      ...["rollcall: broken", "a.jsonl:3:5:", "  error: odd value", "  [odd]", "  = write a number", "    here"],
      ...["hint: fix the odd", "  value", "next: rollcall log my-model a.jsonl"],
    ]);
  });

  it("has at most 2000 letters of each text in JSON, and the cause that stopped the run", async () => {
    const host = testHost();
    const details = {
      http: { ...http, said: "y".repeat(2001) },
      stoppedBy: "storage",
      where: { setting: "project" },
    } as const;
    await printFailure(screenOn(host, { json: true }), fail({ ...details, problems: [], hint: "fix it", next: "a" }));
    const error = {
      code: "internal",
      message: "broken",
      exit_code: 1,
      retryable: false,
      cause: "storage",
      hint: "fix it",
    };
    const said = `${"y".repeat(2000)}…`;
    const document = { error: { ...error, where: details.where, http: { ...http, said }, next: "a" } };
    expect(host.said()).toBe(`${JSON.stringify(document)}\n`);
  });

  it("shows twenty, and counts the others", async () => {
    expect(await print(25)).toContain("  and 5 more problems\n");
    const { error } = JSON.parse(await print(25, "x".repeat(2001), true));
    expect([error.problems.length, error.problems[19].line]).toEqual([20, 20]);
    expect(error.message).toBe(`${"x".repeat(2000)}…`);
  });
});
