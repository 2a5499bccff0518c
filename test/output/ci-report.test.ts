import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Problem } from "../../src/failure.ts";
import { type BuildReport, printReport } from "../../src/output/ci-report.ts";
import { testHost } from "../support/host.ts";
import { screenOn } from "./printed-text.ts";

const reportOf = async (form: BuildReport["form"], facts: Partial<BuildReport>) => {
  const host = testHost();
  const report = { form, file: undefined, mode: 0o600, title: "rollcall check", inputs: ["a"], problems: [], ...facts };
  await printReport(screenOn(host), report);
  return host.printed().split("\n").slice(0, -1);
};

const warning = (file: string, line: number): Problem => ({
  rule: "w",
  severity: "warning",
  message: "odd",
  file,
  line,
});
const error: Problem = {
  ...{ rule: "e", severity: "error", message: '50 % of\n"<a>"', advice: "fix & rerun" },
  ...{ file: "x:1,\u200b2.jsonl", line: 3, column: 7 },
};
const result = { name: "passes", status: "skipped", text: "too few <pairs>\nof prompts" } as const;

describe("a report", () => {
  it("has, for JUnit, no character that XML forbids", async () => {
    const lines = await reportOf("junit", { problems: [{ ...error, message: "a\uffffb" }] });
    expect([lines.some((line) => line.includes("a\ufffdb")), lines.join().includes("\uffff")]).toEqual([true, false]);
  });

  it("has, for GitHub, errors first, then the first problem of each rule, and one of each file", async () => {
    const warnings = [...Array.from({ length: 52 }, (_, at) => warning("a", at + 1)), warning("b", 9)];
    const lines = await reportOf("github", { problems: [...warnings, error], result: { ...result, status: "failed" } });
    expect(lines.slice(0, 3)).toEqual([
      '::error file=x%3A1%2C2.jsonl,line=3,col=7,title=e::50 %25 of%0A"<a>"%0Afix & rerun',
      "::warning file=a,line=1,title=w::odd",
      "::warning file=a,line=2,title=w::odd",
    ]);
    expect(lines.slice(50)).toEqual([
      "::warning file=a,line=50,title=w::odd",
      "::warning file=b,line=9,title=w::odd",
      "::notice title=w::2 more w (to list them, check the same input with --json)",
      "::error title=rollcall check::too few <pairs>%0Aof prompts",
    ]);
  });

  it("has, for GitHub, the other problems in their order, and one of each severity in a file", async () => {
    const shown = async (...problems: readonly Problem[]) =>
      (await reportOf("github", { problems })).map((line) => line.replace(/.*file=(.+),line=(\d+).*/, "$1$2"));
    const other = { ...warning("b", 1), rule: "v" };
    const inOrder = [1, 2, 3].map((line) => warning("a", line));
    expect(await shown(...inOrder, other, { ...other, line: 2 })).toEqual(["a1", "b1", "a2", "a3", "b2"]);
    const fifty = Array.from({ length: 50 }, (_, at) => warning("b", at + 1));
    const inFile = await shown(...fifty, { ...error, file: "a" }, warning("a", 7), warning("a", 8));
    expect([inFile[0], ...inFile.slice(50)]).toEqual(["a3", "b50", "a7", expect.stringContaining("1 more w")]);
  });

  it("has, for JUnit, a suite of each input, of the result, and of problems of all inputs", async () => {
    const problems = [
      { ...error, file: "b" },
      warning("a", 4),
      { rule: "w", severity: "warning", message: "odd" } as const,
    ];
    const facts = { inputs: ["a", "b", "c"], problems, invalid: new Set(["c"]), result };
    const lines = await reportOf("junit", facts);
    expect(lines.slice(1, 2)).toEqual(['<testsuites name="rollcall check" tests="6" failures="1" errors="0">']);
    const suites = lines.flatMap((line) => /<testsuite name="(.*)" errors="0" (.*)>/.exec(line)?.slice(1).join() ?? []);
    expect(suites).toEqual([
      'rollcall check" tests="1" failures="0,skipped="1"',
      'a" tests="2" failures="0,skipped="0"',
      'b" tests="1" failures="1,skipped="0"',
      'c" tests="0" failures="0,skipped="0"',
      'all inputs" tests="2" failures="0,skipped="0"',
    ]);
    const names = lines.flatMap(
      (line) => /<testcase classname="(.*)" name="(.*?)"/.exec(line)?.slice(1).join(": ") ?? [],
    );
    expect(names.join(", ")).toBe(
      "rollcall check: passes, a: is valid, a: w at 4, b: e at 3:7, all inputs: is valid, all inputs: w",
    );
    const text = lines.join("\n");
    expect(text).toContain('<skipped message="too few &lt;pairs&gt;"/>');
    expect(text).toContain(
      'message="50 % of&#10;&quot;&lt;a&gt;&quot;">50 % of\n"&lt;a&gt;"\nfix &amp; rerun</failure>',
    );
  });

  it("has, for JUnit, the text of a result that passed", async () => {
    const lines = await reportOf("junit", { result: { ...result, status: "passed" } });
    expect(lines.join("\n")).toContain("<system-out>too few &lt;pairs&gt;\nof prompts</system-out>");
  });

  it("has, for JUnit, no valid input if an error concerns all inputs", async () => {
    const other = { severity: "warning", rule: "v", message: "odd" } as const;
    const problems = [{ ...other, severity: "error", rule: "e" } as const, other, warning("a", 4)];
    const cases = (await reportOf("junit", { problems })).filter((line) => line.includes("<testcase "));
    expect(cases.map((line) => /name="(.*?)".*name="(.*?)"/.exec(line)?.slice(1).join(": "))).toEqual([
      "a: w at 4",
      "all inputs: e",
      "all inputs: v",
    ]);
  });

  it("has, as Markdown, five inputs, the values, and a row of each rule with errors first", async () => {
    const facts = { inputs: "abcdefg".split(""), problems: [warning("a", 4), warning("a|b", 5), error] };
    expect((await reportOf("markdown", { ...facts, values: [{ name: "reward", value: 0.5 }] })).join("\n")).toBe(`\
### rollcall check: \`a\`, \`b\`, \`c\`, \`d\`, \`e\` and 2 more

| result | value |
| --- | ---: |
| \`reward\` | \`0.5\` |

| problem | severity | rule | number | first position |
| --- | ---: | ---: | ---: | ---: |
| \`50 % of "<a>"\` | error | \`e\` | 1 | \`x:1,2.jsonl:3:7\` |
| \`odd\` | warning | \`w\` | 2 | \`a:4\` |`);
    const first = { problems: [warning("a", 4)], counts: [{ rule: "w", count: 9 }] };
    expect((await reportOf("markdown", first)).at(-1)).toBe("| `odd` | warning | `w` | 9 | `a:4` |");
    const counts = ["w", "dropped", "e"].map((rule) => ({ rule, count: 1 }));
    const rows = await reportOf("markdown", { problems: [warning("a", 4), error], counts });
    expect(rows.slice(-2).map((row) => /error|warning/.exec(row)?.[0])).toEqual(["error", "warning"]);
    const ofFive = await reportOf("markdown", { inputs: "abcde".split(""), counts: [{ rule: "w", count: 9 }] });
    expect(ofFive.join("\n")).toBe("### rollcall check: `a`, `b`, `c`, `d`, `e`\n\nNo problem.");
  });

  it("is saved with a mark by which a later run replaces it, and added to the summary of a job", async () => {
    const folder = mkdtempSync(join(tmpdir(), "report-"));
    const saveTwice = async (form: BuildReport["form"], summary?: string) => {
      const file = join(folder, summary ?? form);
      const host = testHost({ env: { GITHUB_STEP_SUMMARY: summary && file } });
      const report = { form, file, mode: 0o600, title: "rollcall check", inputs: ["a"], problems: [warning("a", 4)] };
      for (const _ of [1, 2]) await printReport(screenOn(host), report);
      return readFileSync(file, "utf8").replace(/checksum [\da-f]+/, "checksum 1");
    };
    const line = "::warning file=a,line=4,title=w::odd\n";
    expect(await saveTwice("github")).toBe(`${line}::debug::rollcall: checksum 1\n`);
    for (const form of ["junit", "markdown"] as const)
      expect(await saveTwice(form)).toMatch(/[>|]\n<!-- rollcall: checksum 1 -->\n$/);
    expect(await saveTwice("github", "summary")).toBe(line.repeat(2));
  });
});
