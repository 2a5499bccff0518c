import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { searchGroups } from "../../../src/rollouts/dataset/group-bytes.ts";
import { filesOf, read } from "../../support/inputs.ts";

/** The bytes that are read at once. */
const windowBytes = 2 ** 20;

const search = async (lines: readonly unknown[], text: string, changed?: string) => {
  const texts = lines.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  const files = filesOf(texts.join("\n"));
  const dataset = await read(files);
  if (changed !== undefined) writeFileSync(files[0] ?? "", changed);
  const progress = { found: new Set<number>(), share: 0 };
  await searchGroups(dataset, text, { progress, signal: new AbortController().signal });
  return [...progress.found];
};

const turnsOf = (content: string) => [
  { role: "user", content: "q" },
  { finish_reason: "stop", index: 0, message: { role: "assistant", content } },
];
describe("the search of groups", () => {
  it.each<[text: string, found: readonly number[]]>([
    ["é", [0, 1]],
    ["É", []],
    ["Second", []],
    ["econd", [2]],
    ["a\nb", [1]],
  ])("finds a text in any spelling, and in any trajectory of a group: %j", async (text, found) => {
    const line = (content: string, id: string) => ({ messages_and_choices: turnsOf(content), reward: 1, group_id: id });
    const escaped = JSON.stringify(line("E a\nb", "b")).replace("E", "\\u00e9");
    const lines = [line("é", "a"), escaped, line("x", "c"), line("sECOND", "c")];
    expect(await search(lines, text)).toEqual(found);
  });

  it("finds a text in a changed file unless it is in a changed part, or the file is shorter", async () => {
    const [kept = "", old = ""] = ["kept", "old!"].map((content) =>
      JSON.stringify({ messages_and_choices: turnsOf(content), reward: 1 }),
    );
    const changed = `${kept}\n${old.replace("old!", "new!")}`;
    expect(await search([kept, old], "kept", changed)).toEqual([0]);
    await expect(search([kept, old], "new!", changed)).rejects.toThrow("changed");
    await expect(search([kept, old], "nothing", kept)).rejects.toThrow("changed");
  });

  it("finds a text that begins in one window and ends in the next", async () => {
    const opening = '{"trajectories":[{"messages_and_choices":[{"role":"user","content":"';
    const padding = "x".repeat(windowBytes - opening.length - 3);
    const line = `${opening}${padding}needle"}],"reward":1}]}`;
    expect(await search([line, `${opening}"}],"reward":1}]}`], "needle")).toEqual([0]);
  });
});
