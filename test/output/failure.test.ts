import fc from "fast-check";
import stringWidth from "string-width-current";
import { describe, expect, it } from "vitest";
import { type Excerpt, Failure, type Problem } from "../../src/failure.ts";
import { printFailure } from "../../src/output/print-failure.ts";
import { problemsIn, readRules, told } from "../project/docs/rule-page.ts";
import { testHost } from "../support/host.ts";
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
  const problems = await problemsIn({ files: { "step.jsonl": odd } });
  const frames: string[] = [];
  for (const problem of problems) frames.push(await told(problem, columns));
  return `${frames.join("\n\n")}\n`;
};

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
    const problems = await problemsIn({ files: { "group.json": document } });
    const problem = problems.find(({ rule }) => rule === "unknown-role");
    expect(problem && (await told(problem)).split("\n").slice(1, 4)).toEqual([
      ' 6 │           "role": "usr",',
      "   │                   ^^^^^",
      "   = use developer, system, user, assistant, tool or function",
    ]);
  });

  it("is replaced by one line in a pipe", async () => {
    const [problem] = await problemsIn({ files: { "step.jsonl": long("", "asistant") } });
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
    { quick: 20, slow: 300 },
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
    for (const problem of await problemsIn({ files: { "step.jsonl": `${line("usr")}\n${line("user")}` } })) {
      const said = await told(problem, 140);
      expect(said).not.toContain("Ab3dEfGh");
    }
  });

  it.each([
    ["redacts", "WANDB_API_KEY=", true],
    ["redacts", '\\"wandb_api_key\\": \\"', true],
    ["shows", "git checkout ", false],
    ["shows", "wandb/wandb@", false],
  ])("%s 40 hexadecimal digits after %s", async (_, before, isKey) => {
    const digits = "f3a90c71d2b84e6655aa0c1d9e8f7b6a5c4d3e2f";
    const text = `{"messages_and_choices":[{"role":"usr","content":"${before}${digits} now"},{"role":"assistant","content":"ok"}],"reward":1}`;
    const problems = await problemsIn({ files: { "step.jsonl": text } });
    const problem = problems.find(({ rule }) => rule === "unknown-role");
    const said = problem === undefined ? "" : await told(problem, 200);
    expect([said.includes(digits), said.includes("now")]).toEqual([!isKey, true]);
  });
});

describe("the problem of each rule's example", () => {
  it("has a frame if the rule is about a value of a line", async () => {
    for (const { name, example } of readRules) {
      const problem = (await problemsIn(example)).find(({ rule }) => rule === name);
      const isInLine = problem?.column !== undefined;
      const isWhole =
        /^((zero-variance|single-trajectory|ambiguous)-group|no-assistant-turn|no-sampled-turns|missing-(logprobs|tools)|stale-policy|mixed-steps|no-prompt|empty-group|duplicate-trajectory|split-leak|mixed-prompts)/.test(
          name,
        );
      expect([name, problem?.excerpt !== undefined]).toEqual([name, isInLine && !isWhole]);
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

  it("repeats no problem that its message has as the only one", async () => {
    expect((await print(1)).match(/a\.jsonl:1: /g)).toHaveLength(1);
    expect((await print(2)).match(/a\.jsonl:[12]: error/g)).toHaveLength(2);
  });

  it("shows twenty, and counts the others", async () => {
    expect(await print(25)).toContain("  and 5 more problems\n");
    const { error } = JSON.parse(await print(25, "x".repeat(2001), true));
    expect([error.problems.length, error.problems[19].line]).toEqual([20, 20]);
    expect(error.message).toBe(`${"x".repeat(2000)}…`);
  });
});
