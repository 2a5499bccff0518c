import { beforeAll, describe, expect, it } from "vitest";
import { topics } from "../../src/commands/explain/topics.ts";
import { type CommandTree, readCommandTree } from "../support/command-tree.ts";

let tree: CommandTree;
beforeAll(async () => {
  tree = await readCommandTree();
});

/** The advice of each rule's example, by the name of the rule. */
const advised = async (): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  for (const { name, example } of topics) if (example !== undefined) found.set(name, (await example()).advice ?? "");
  return found;
};

const optionsOf = ({ commands }: CommandTree): ReadonlySet<string> =>
  new Set(commands.flatMap(({ options }) => options.map(({ name }) => name)));

describe("the advice of a rule", () => {
  it("exists, and names only commands that exist, with their own options", async () => {
    const options = optionsOf(tree);
    const sentences = await advised();
    expect(sentences.size).toBeGreaterThan(90);
    expect([...sentences].filter(([, advice]) => advice === "")).toEqual([]);
    for (const [name, advice] of sentences) {
      for (const [, words = ""] of advice.matchAll(/`(rollcall [^`]+)`/g)) {
        expect(tree.unknownIn(words), `${name}: ${advice}`).toEqual([]);
      }
      for (const option of advice.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []) {
        expect(options, `${name}: ${advice}`).toContain(option);
      }
    }
  });
});
