import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Problem } from "../../src/failure.ts";
import { selectProblems } from "../../src/session/print-problems.ts";
import { runHere, runHereOnTerminal } from "../support/here.ts";
import { filesOf, newFolder } from "../support/inputs.ts";

const bare = { rule: "r", severity: "error", message: "m" } as const;
const at = (line: number, more: Partial<Problem> = {}): Problem => ({ ...bare, file: "a", line, ...more });
const warning = (line: number, message: string) => at(line, { severity: "warning", message });
const reported = (...path: readonly (string | number)[]): Problem => ({ ...bare, from: "service", path });

/** Returns the first problem of each kind, with the number and the positions of the others. */
const select = async (
  problems: readonly Problem[],
  options: { max?: number; counts?: Record<string, number> } = {},
) => {
  const { max, counts = {} } = options;
  const ruleCounts = Object.entries(counts).map(([rule, count]) => ({ rule, count, severity: "error" as const }));
  const { shown, hidden } = await selectProblems([], {
    problems,
    counts: ruleCounts,
    ...(max !== undefined && { max }),
  });
  const list = shown.map(({ line, path = [], others }) => {
    const end = others ? ` and ${others.count}: ${others.positions.join(", ")}` : "";
    return `${line ?? path.join(".")}${end}`;
  });
  return [...list, ...Array.from(hidden, ([rule, count]) => `${count} ${rule}`)];
};

describe("selectProblems", () => {
  it("shows the first of equal errors, and of warnings with the same rule", async () => {
    expect(await select([at(1), at(2, { message: "n" }), at(3)])).toEqual(["1 and 1: a:3", "2"]);
    expect(await select([warning(1, "m"), warning(2, "n")])).toEqual(["1 and 1: a:2"]);
    const service = [reported("x", 0), reported("y", 0), reported("x", 1)];
    expect(await select(service)).toEqual(["x.0 and 1: ", "y.0"]);
  });

  it("names six positions, and counts problems that rollcall did not keep", async () => {
    const many = Array.from({ length: 9 }, (_, line) => at(line + 1));
    expect(await select(many)).toEqual(["1 and 8: a:2, a:3, a:4, a:5, a:6, a:7"]);
    const kinds = [at(1), at(2, { message: "n" }), at(3), at(4, { rule: "s" })];
    expect(await select(kinds, { counts: { r: 9, s: 1 } })).toEqual(["1 and 7: a:3", "2", "4"]);
    expect(await select(kinds, { counts: { r: 9 }, max: 1 })).toEqual(["1 and 7: a:3", "1 r", "1 s"]);
    expect(await select(kinds, { counts: { r: 9, s: 5 }, max: 0 })).toEqual(["9 r", "5 s"]);
  });

  it.each<[positions: string, others: readonly Problem[]]>([
    ["a:2, a:3", [at(2), at(2), at(3)]],
    ["a:2", [at(1, { column: 5 }), at(2, { column: 5 })]],
    ["b:1, 2, c", [at(1, { file: "b" }), { ...bare, line: 2 }, { ...bare, file: "c" }, bare]],
  ])("names other positions: %s", async (positions, others) => {
    expect(await select([at(1, { path: ["x"] }), ...others])).toEqual([`1 and ${others.length}: ${positions}`]);
  });

  it("says that equal problems have different advice", async () => {
    const adviceOf = async (...advices: readonly string[]) =>
      (await selectProblems([], { problems: advices.map((advice) => at(1, { advice })) })).shown[0]?.advice;
    const several = "a (here; --json has the advice of each)";
    expect([await adviceOf("a", "a", "a"), await adviceOf("a", "b"), await adviceOf("a", "a", "b")]).toEqual([
      "a",
      several,
      several,
    ]);
  });
});

describe("warnings", () => {
  it("are only counted if there are 20 errors", async () => {
    const good = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}\n';
    const notesFor = async (errors: number) => {
      const [file = ""] = filesOf(`${'{"trajectories":1}\n'.repeat(errors)}${good}`);
      const out = ["--out", join(newFolder(), "out.jsonl"), "--rejects", join(newFolder(), "rejected")];
      const { stderr } = await runHere(["convert", file, "--on-invalid", "skip", ...out]);
      return stderr.match(/\[[a-z-]+\]$|omitted.*(?= \()/gm);
    };
    const rest = "omitted warnings: 1 no-assistant-turn";
    expect(await notesFor(19)).toEqual(["[single-trajectory-group]", rest, "[wrong-type]"]);
    expect(await notesFor(20)).toEqual([rest.replace("1", "1 single-trajectory-group, 1"), "[wrong-type]"]);
  });
});

it.each([
  ["rollcall", '{"messages_and_choices":[],"reward":1}'],
  ["openai-chat", '{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"reward":1}'],
])("the faulty line of a file of %s is shown on a terminal, with a mark below the fault", async (from, row) => {
  const cut = row.slice(0, -2);
  const args = ["check", ...filesOf(`${row}\n${cut}`), "--from", from, "--no-color", "-q"];
  const { written } = await runHereOnTerminal(args, { columns: 200 });
  const [line = "", mark = ""] = written.split("\r\n").filter((text) => text.includes("│"));
  expect([line, mark]).toEqual([` 2 │ ${cut}`, `   │ ${" ".repeat(cut.length)}^`]);
});
