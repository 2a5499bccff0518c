import { describe, expect, it } from "vitest";
import { searchGroups } from "../../src/rollouts/dataset/select/filter-groups.ts";
import { filesOf, read } from "../support/inputs.ts";

/** The bytes that are read at once. */
const windowBytes = 2 ** 20;

const search = async (lines: readonly unknown[], query: Parameters<typeof searchGroups>[1]) => {
  const texts = lines.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  const dataset = await read(filesOf(texts.join("\n")));
  const found: number[] = [];
  const events = { onFound: (group: number) => void found.push(group), onProgress: () => undefined };
  await searchGroups(dataset, query, { ...events, signal: new AbortController().signal });
  return found;
};

const turnsOf = (content: string, finish_reason = "stop") => [
  { role: "user", content: "q" },
  { finish_reason, index: 0, message: { role: "assistant", content } },
];
const full = {
  ...{ messages_and_choices: turnsOf("abc", "length"), reward: 1, logs: ["l"], group_id: "g", own: 7 },
  tools: [{ type: "function", function: { name: "f" } }],
  ...{ metrics: { m: 1 }, metadata: { k: 1, step: 3 }, info: { train_step: 5 }, start_time: "2026-01-01T00:00:00Z" },
  ...{ initial_policy_version: 1, final_policy_version: 2 },
  additional_histories: [{ messages_and_choices: turnsOf("d") }],
};
const groups = [
  { trajectories: [full], global_step: 4, extra_info: { trainStep: 6 }, exceptions: [{ message: "e" }] },
  { trajectories: [{ messages_and_choices: turnsOf("a"), reward: 0 }] },
];

describe("the search of groups", () => {
  it.each([
    "reward == 1.0; solved; group.reward_max == 1.0; group.number == 1; group.exceptions == 1; trajectory.own == 7",
    "size(tools) == 1; metrics.m == 1.0; metadata.k == 1; size(logs) == 1; size(additional_histories) == 1; turns == 1 && solved",
    "group_id == 'g'; start_time > '2025'; initial_policy_version == 1; final_policy_version == 2; finish_reason == 'length'",
    "step == 3; train_step == 5; global_step == 4; trainStep == 6; truncated; characters == 3; messages[1].content == 'abc'",
    "messages_and_choices[1].message.content == 'abc'; tool_calls == 0 && tokens == null && metadata.k == 1",
  ])("reads of a file what an expression needs: %s", async (wheres) => {
    for (const where of wheres.split("; ")) expect([where, ...(await search(groups, { where }))]).toEqual([where, 0]);
  });

  it.each<[text: string, found: readonly number[]]>([
    ["é", [0, 1]],
    ["É", []],
    ["second", [2]],
    ["a\nb", [1]],
  ])("finds a text in any spelling, and in any trajectory of a group: %j", async (text, found) => {
    const line = (content: string, id: string) => ({ messages_and_choices: turnsOf(content), reward: 1, group_id: id });
    const escaped = JSON.stringify(line("E a\nb", "b")).replace("E", "\\u00e9");
    const lines = [line("é", "a"), escaped, line("x", "c"), line("second", "c")];
    expect(await search(lines, { text })).toEqual(found);
    expect(await search(lines, { text, where: "reward == 1.0" })).toEqual(found);
    expect(await search(lines, { text, where: "reward == 2.0" })).toEqual([]);
  });

  it("finds a valid group once if some of its trajectories match an expression", async () => {
    const line = (reward: unknown, group_id: string) => ({ messages_and_choices: turnsOf("a"), reward, group_id });
    const lines = [line(0, "a"), line(1, "b"), line(1, "b"), line(0, "c"), line(1, "c"), line("1", "d"), line(1, "d")];
    expect(await search(lines, { where: "reward == 1.0" })).toEqual([1, 2]);
    expect(await search(lines, { where: "turns == 1" })).toEqual([0, 1, 2]);
  });

  it("finds a text that begins in one window and ends in the next", async () => {
    const opening = '{"trajectories":[{"messages_and_choices":[{"role":"user","content":"';
    const padding = "x".repeat(windowBytes - opening.length - 3);
    const line = `${opening}${padding}needle"}],"reward":1}]}`;
    expect(await search([line, `${opening}"}],"reward":1}]}`], { text: "needle" })).toEqual([0]);
  });
});
