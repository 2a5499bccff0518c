import { describe, expect, it } from "vitest";
import { problemsIn, readRules } from "../docs/rule-page.ts";
import { ruleExamples } from "../docs/rules.ts";

describe("every rule that reading fires", () => {
  it.each(readRules)("%s is fired by its example, and not by what is nearly the same", async (name) => {
    const example = ruleExamples[name];
    if (!("fires" in example)) throw new Error(`${name} is not fired by reading`);
    const rulesOf = async (inputs: typeof example.fires) => (await problemsIn(inputs)).map(({ rule }) => rule);
    expect(await rulesOf(example.fires)).toContain(name);
    expect(await rulesOf(example.passes)).not.toContain(name);
  });
});
