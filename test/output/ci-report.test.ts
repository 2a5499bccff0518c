import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Problem } from "../../src/failure.ts";
import { type BuildReport, printReport } from "../../src/output/ci-report.ts";
import { testHost } from "../support/host.ts";
import { newFolder } from "../support/inputs.ts";
import { screenOn } from "./printed-text.ts";

const reportOf = async (facts: Partial<BuildReport>, file = join(newFolder(), "summary.md")) => {
  const host = testHost({ env: { GITHUB_STEP_SUMMARY: file } });
  await printReport(screenOn(host), { title: "rollcall check", inputs: ["a"], problems: [], ...facts });
  return { annotations: host.printed().split("\n").slice(0, -1), summary: readFileSync(file, "utf8") };
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

describe("a report", () => {
  it("has errors first, then the first problem of each rule, at most 50 of each rule", async () => {
    const warnings = [...Array.from({ length: 52 }, (_, at) => warning("a", at + 1)), warning("b", 9)];
    const result = { isFailure: true, text: "too few <pairs>\nof prompts" };
    const { annotations: lines } = await reportOf({ problems: [...warnings, error], result });
    expect(lines.slice(0, 3)).toEqual([
      '::error file=x%3A1%2C2.jsonl,line=3,col=7,title=e::50 %25 of%0A"<a>"%0Afix & rerun',
      "::warning file=a,line=1,title=w::odd",
      "::warning file=a,line=2,title=w::odd",
    ]);
    expect(lines.slice(50)).toEqual([
      "::warning file=a,line=50,title=w::odd",
      "::notice title=w::3 more w (to list them, check the same input with --json)",
      "::error title=rollcall check::too few <pairs>%0Aof prompts",
    ]);
  });

  it("has the other problems in their order", async () => {
    const shown = async (...problems: readonly Problem[]) =>
      (await reportOf({ problems })).annotations.map((line) => line.replace(/.*file=(.+),line=(\d+).*/, "$1$2"));
    const other = { ...warning("b", 1), rule: "v" };
    const inOrder = [1, 2, 3].map((line) => warning("a", line));
    expect(await shown(...inOrder, other, { ...other, line: 2 })).toEqual(["a1", "b1", "a2", "a3", "b2"]);
  });

  it("has in the summary five inputs, the values, and a row of each rule with errors first", async () => {
    const facts = { inputs: "abcdefg".split(""), problems: [warning("a", 4), warning("a|b", 5), error] };
    expect((await reportOf({ ...facts, values: [{ name: "reward", value: 0.5 }] })).summary).toBe(`\
### rollcall check: \`a\`, \`b\`, \`c\`, \`d\`, \`e\` and 2 more

| result | value |
| --- | ---: |
| \`reward\` | \`0.5\` |

| problem | severity | rule | number | first position |
| --- | ---: | ---: | ---: | ---: |
| \`50 % of "<a>"\` | error | \`e\` | 1 | \`x:1,2.jsonl:3:7\` |
| \`odd\` | warning | \`w\` | 2 | \`a:4\` |
`);
    const first = { problems: [warning("a", 4)], counts: [{ rule: "w", count: 9 }] };
    expect((await reportOf(first)).summary).toMatch(/\n\| `odd` \| warning \| `w` \| 9 \| `a:4` \|\n$/);
    const counts = ["w", "dropped", "e"].map((rule) => ({ rule, count: 1 }));
    const { summary } = await reportOf({ problems: [warning("a", 4), error], counts });
    expect(summary.match(/\b(error|warning)\b/g)).toEqual(["error", "warning"]);
    const ofFive = await reportOf({ inputs: "abcde".split(""), counts: [{ rule: "w", count: 9 }] });
    expect(ofFive.summary).toBe("### rollcall check: `a`, `b`, `c`, `d`, `e`\n\nNo problem.\n");
  });

  it("is added to the summary of the job, which keeps what other commands wrote", async () => {
    const file = join(newFolder(), "summary.md");
    const { summary } = await reportOf({ problems: [warning("a", 4)] }, file);
    expect((await reportOf({ problems: [warning("a", 4)] }, file)).summary).toBe(summary.repeat(2));
  });
});
