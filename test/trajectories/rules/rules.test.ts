import { describe, expect, it } from "vitest";
import { exampleProblem, type Inputs } from "../../../src/trajectories/index.ts";
import { problemsIn, readRules } from "../../project/docs/rule-page.ts";

describe("every rule that reading fires", () => {
  it.each(readRules)("$name is fired by its example, and not by what is nearly the same", async (rule) => {
    const ownIn = async (inputs: Inputs) => (await problemsIn(inputs)).filter((problem) => problem.rule === rule.name);
    expect((await ownIn(rule.fires))[0]).toEqual(await exampleProblem(rule.name));
    expect(await ownIn(rule.passes)).toEqual([]);
  });
});

describe("every rule", () => {
  it.each(readRules)("$name names the file of what has one, and the line of what stands on one", async ({ fires }) => {
    for (const { file, line, column } of await problemsIn(fires)) {
      expect(file).toBeTypeOf("string");
      if (column !== undefined) expect(line).toBeTypeOf("number");
    }
  });
});
