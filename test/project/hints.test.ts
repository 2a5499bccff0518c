import { expect, it } from "vitest";
import { ruleNames, rules } from "../../src/rollouts/rules/rules.ts";
import { readCommandTree } from "../support/command-tree.ts";

it("the advice of a rule names only commands and options that exist", async () => {
  const tree = await readCommandTree();
  const options = new Set(tree.commands.flatMap(({ options: own }) => own.map(({ name }) => name)));
  for (const name of ruleNames) {
    // The source of a function has all its texts.
    const advice = String(rules[name].advice);
    const commands = Array.from(advice.matchAll(/`(rollcall [^`$]+?)\\?`/g), ([, words = ""]) => words);
    expect([name, ...commands.flatMap((words) => tree.unknownIn(words))]).toEqual([name]);
    const named = advice.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];
    expect([name, ...named.filter((option) => !options.has(option))]).toEqual([name]);
  }
});
