import { describe, expect, it } from "vitest";
import { Problems } from "../../../src/rollouts/rules/problems.ts";
import { parseStrictness, type Strictness } from "../../../src/rollouts/rules/rules.ts";

const strictness = (more: Partial<Strictness> = {}): Strictness => ({ strict: false, allowed: new Set(), ...more });
const warn = (problems: Problems, file = "a", line = 1, column = 1) =>
  problems.report("unknown-role", { role: "human" }, { file, line, column });
const comment = { fault: "comment", word: "", character: "/", isDocument: false, isFormatGiven: false } as const;
const fail = (problems: Problems, file = "a", line = 1) => problems.report("json-syntax", comment, { file, line });
const list = (problems: Problems) =>
  problems.sorted().map(({ file, line, rule, severity }) => `${file}:${line} ${severity} ${rule}`);

describe("the problems of a run", () => {
  it("have the severity of their rule, and are counted by rule unless --allow silences it", () => {
    const problems = new Problems(strictness({ allowed: new Set(["element-type", "json-syntax"]) }));
    expect(problems.report("element-type", { element: "log", found: "1" })).toBeUndefined();
    expect([warn(problems), fail(problems), warn(problems)]).toEqual(["warning", undefined, "warning"]);
    expect(problems.report("input-empty", { isEmpty: true })).toBe("error");
    expect(problems.counts).toEqual([
      { rule: "unknown-role", severity: "warning", count: 2 },
      { rule: "input-empty", severity: "error", count: 1 },
    ]);
    expect(problems.errors).toBe(1);
  });

  it.each<[strictness: Partial<Strictness>, severities: readonly string[]]>([
    [{}, ["warning", "warning", "warning"]],
    [{ strict: true }, ["error", "error", "error"]],
    [{ strict: true, isDeferred: true }, ["warning", "error", "error"]],
    [{ isDeferred: true }, ["warning", "warning", "warning"]],
  ])(
    "become errors with --strict, at once or when warnings are promoted (row %$)",
    (more, [first, promoted, later]) => {
      const problems = new Problems(strictness(more));
      expect(warn(problems)).toBe(first);
      problems.promoteWarnings();
      expect(list(problems)).toEqual([`a:1 ${promoted} unknown-role`]);
      expect([problems.counts[0]?.severity, warn(problems)]).toEqual([promoted, later]);
    },
  );

  it.each<[strictness: Partial<Strictness>, warnings: number, errors: number]>([
    [{}, 1001, 1001],
    [{ writesRejects: true }, 1001, 1003],
    [{ writesRejects: true, strict: true }, 1003, 1003],
  ])(
    "are stored up to 1,000 of a rule, and one of each later input, unless a reasons file needs them (row %$)",
    (...row) => {
      const [more, warnings, errors] = row;
      const problems = new Problems(strictness(more));
      const merged = new Problems(strictness(more));
      for (let at = 0; at < 1003; at++) {
        problems.input = at < 1001 ? "a" : "b";
        warn(problems, problems.input);
        fail(problems, problems.input);
      }
      for (const _ of [1, 2]) merged.merge(problems);
      const countStored = (one: Problems) =>
        ["unknown-role", "json-syntax"].map((rule) => one.sorted().filter((problem) => problem.rule === rule).length);
      expect(problems.counts.map(({ count }) => count)).toEqual([1003, 1003]);
      expect(merged.counts.map(({ count }) => count)).toEqual([2006, 2006]);
      expect(countStored(problems)).toEqual([warnings, errors]);
      expect(countStored(merged)).toEqual([warnings, errors].map((count) => (count === 1001 ? 1003 : 2006)));
    },
  );

  it("are in the order of the inputs, then by name, line and column, with numbers as numbers", () => {
    const problems = new Problems();
    problems.inputs = ["z", "b"];
    for (const name of ["a10", "a9", "b", "z"]) fail(problems, name, 3);
    for (const [line, column] of [
      [2, 1],
      [3, 2],
      [3, 1],
    ] as const)
      warn(problems, "b", line, column);
    problems.report("json-syntax", comment);
    expect(problems.sorted().map(({ file, line, column }) => [file, line, column].join(" "))).toEqual([
      "z 3 ",
      "b 2 1",
      "b 3 ",
      "b 3 1",
      "b 3 2",
      "  ",
      "a9 3 ",
      "a10 3 ",
    ]);
  });

  it("are merged with later problems, without silenced warnings", () => {
    const later = new Problems();
    warn(later, "b");
    fail(later, "b");
    later.replaceWithError("mixed-shapes", { shapes: ["a", "b"] }, { file: "b", line: 1 });
    const merge = (more: Partial<Strictness>) => {
      const problems = new Problems(strictness(more));
      warn(problems);
      problems.merge(later);
      return list(problems);
    };
    const errors = ["b:1 error json-syntax", "b:1 error mixed-shapes"];
    const all = (severity: string) => [`a:1 ${severity} unknown-role`, ...errors, `b:1 ${severity} unknown-role`];
    expect(merge({})).toEqual(all("warning"));
    expect(merge({ strict: true })).toEqual(all("error"));
    expect(merge({ allowed: new Set(["unknown-role", "mixed-shapes"]) })).toEqual(errors);
  });

  it("break the whole input only if an error is about it", async () => {
    const problems = new Problems();
    fail(problems);
    problems.addInputRule("unknown-role");
    warn(problems);
    expect(problems.isInputBroken).toBe(false);
    const other = new Problems();
    other.replaceWithError("unknown-role", { role: "x" }, {});
    expect([problems.isInputBroken, other.isInputBroken]).toEqual([false, true]);
    problems.report("input-empty", { isEmpty: true });
    expect(problems.isInputBroken).toBe(true);
    await problems.relocate(async ({ rule }) => (rule === "unknown-role" ? { file: "c", offset: 7 } : undefined));
    expect(problems.sorted().map(({ file, line, rule, severity }) => `${file}:${line} ${severity} ${rule}`)).toEqual([
      "undefined:undefined error input-empty",
      "a:1 error json-syntax",
      "c:undefined warning unknown-role",
    ]);
  });
});

it.each([
  [["unknown-role", "element-type"], undefined],
  [["unknown-role", "wrong-type"], "wrong-type"],
  [["unknown-rule"], "unknown-rule"],
])("--allow silences only warnings: %j", (allow, wrong) => {
  const parse = () => parseStrictness({ strict: true, allow });
  if (wrong === undefined) expect(parse()).toEqual({ strict: true, allowed: new Set(allow) });
  else expect(parse).toThrow(wrong);
});
