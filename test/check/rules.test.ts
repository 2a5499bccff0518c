import { describe, expect, it } from "vitest";
import type { Inputs } from "../../src/check/index.ts";
import { exampleProblem } from "../../src/commands/explain/rule-example.ts";
import { problemsIn, readRules } from "../project/docs/rule-page.ts";

describe("each rule that reading reports", () => {
  it.each(readRules)("reports $name for its example, and not for its near miss", async (rule) => {
    const ownIn = async (inputs: Inputs) => (await problemsIn(inputs)).filter((problem) => problem.rule === rule.name);
    expect((await ownIn(rule.fires))[0]).toEqual(await exampleProblem(rule.name));
    expect(await ownIn(rule.passes)).toEqual([]);
  });
});

describe("each rule", () => {
  it.each(readRules)("reports $name with the file, and with the line if it has one", async ({ fires }) => {
    for (const { file, line, column } of await problemsIn(fires)) {
      expect(file).toBeTypeOf("string");
      if (column !== undefined) expect(line).toBeTypeOf("number");
    }
  });
});
