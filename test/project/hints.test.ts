import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

/** Quoted texts in the sources. */
const texts = (): ReadonlyMap<string, readonly string[]> =>
  new Map(
    readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => {
        const code = readFileSync(join("src", name), "utf8").replaceAll(/^ *(?:\/?\*.*|\/\/.*)$/gm, "");
        return [name, code.match(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? []];
      }),
  );

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

describe("a text of the source", () => {
  it("names only commands and options that exist", () => {
    const options = optionsOf(tree);
    const first = new Set(tree.commands.map(({ name }) => name.split(" ")[0] ?? ""));
    const all = [...texts()].flatMap(([file, own]) => own.map((text) => ({ file, text })));
    const commands = all.flatMap(({ file, text }) =>
      Array.from(text.matchAll(/`rollcall (?!service at)([a-z]+)/g), ([, word = ""]) => ({ file, text, word })),
    );
    const typed = all.flatMap(({ file, text }) =>
      Array.from(text.matchAll(/(?<=[ (`"])(--[a-z][a-z-]+)(?=[ ,;:`)="])/g), ([word]) => ({ file, text, word })),
    );
    expect(commands.length).toBeGreaterThan(20);
    expect(typed.length).toBeGreaterThan(100);
    expect(commands.filter(({ word }) => !first.has(word))).toEqual([]);
    expect(typed.filter(({ word }) => !options.has(word) && !foreign.has(word))).toEqual([]);
  });
});

/** Options of curl and Node, and a part of option names. */
const foreign = new Set([
  "--max-inlined-bytecode-size-cumulative",
  "--netrc",
  "--not-",
  "--semi-space-growth-factor",
  "--wasm-tiering-budget",
]);
